import { z } from "zod";
import { durationText } from "./duration-text.ts";
import { hostUserModes } from "./host-user.ts";

const limitSchema = z.int().min(1, "must be at least 1; omit it for no limit");

const recordModes = z.enum(["strict", "best_effort"], "is strict or best_effort");
/** Whether a session ends when it can no longer be recorded; `ssh` comes before `default`. */
const recordSessionSchema = z.strictObject({ default: recordModes.optional(), ssh: recordModes.optional() });

/** The options of a role that are enforced; core/access/session-rules.ts combines those of several roles. */
export const roleOptionsSchema = z.strictObject({
  max_session_ttl: durationText.optional(),
  forward_agent: z.boolean().optional(),
  port_forwarding: z.boolean().optional(),
  ssh_file_copy: z.boolean().optional(),
  permit_x11_forwarding: z.boolean().optional(),
  client_idle_timeout: z.union([z.literal("never"), durationText]).optional(),
  disconnect_expired_cert: z.boolean().optional(),
  max_sessions: limitSchema.optional(),
  max_connections: limitSchema.max(10_000, "must be at most 10000; omit it for no limit").optional(),
  pin_source_ip: z.boolean().optional(),
  lock: z.enum(["strict", "best_effort"]).optional(),
  record_session: recordSessionSchema.optional(),
  create_host_user_mode: z.enum(hostUserModes, "is off, drop or keep").optional(),
});
export type RoleOptions = z.infer<typeof roleOptionsSchema>;
