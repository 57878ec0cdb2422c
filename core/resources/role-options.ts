import { z } from "zod";
import { durationText } from "./duration-text.ts";
import { hostUserModes } from "./host-user.ts";

/** The options of a role that are enforced; core/access/session-rules.ts puts those of several roles together. */
export const roleOptionsSchema = z.strictObject({
  max_session_ttl: durationText.optional(),
  forward_agent: z.boolean().optional(),
  port_forwarding: z.boolean().optional(),
  ssh_file_copy: z.boolean().optional(),
  permit_x11_forwarding: z.boolean().optional(),
  client_idle_timeout: z.union([z.literal("never"), durationText]).optional(),
  disconnect_expired_cert: z.boolean().optional(),
  max_sessions: z.int().min(1, "is a number from 1 on; leave it out for no limit").optional(),
  create_host_user_mode: z.enum(hostUserModes, "is off, drop or keep").optional(),
});
export type RoleOptions = z.infer<typeof roleOptionsSchema>;
