import { z } from "zod";
import { durationText } from "./duration-text.ts";
import { hostUserModes } from "./host-user.ts";

const limitSchema = z.int().min(1, "is a number from 1 on; leave it out for no limit");

const recordModes = z.enum(["strict", "best_effort"], "is strict or best_effort");
/** Whether a session ends that cannot be recorded any more; `ssh` comes before `default`. */
const recordSessionSchema = z.strictObject({ default: recordModes.optional(), ssh: recordModes.optional() });

/** The options of a role that are enforced; core/access/session-rules.ts puts those of several roles together. */
export const roleOptionsSchema = z.strictObject({
  max_session_ttl: durationText.optional(),
  forward_agent: z.boolean().optional(),
  port_forwarding: z.boolean().optional(),
  ssh_file_copy: z.boolean().optional(),
  permit_x11_forwarding: z.boolean().optional(),
  client_idle_timeout: z.union([z.literal("never"), durationText]).optional(),
  disconnect_expired_cert: z.boolean().optional(),
  max_sessions: limitSchema.optional(),
  max_connections: limitSchema.max(10_000, "is 10000 at most; leave it out for no limit").optional(),
  pin_source_ip: z.boolean().optional(),
  lock: z.enum(["strict", "best_effort"]).optional(),
  record_session: recordSessionSchema.optional(),
  create_host_user_mode: z.enum(hostUserModes, "is off, drop or keep").optional(),
});
export type RoleOptions = z.infer<typeof roleOptionsSchema>;
