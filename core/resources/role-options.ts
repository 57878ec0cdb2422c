import { z } from "zod";
import { durationText } from "./duration-text.ts";

/** The options of a role that are enforced; core/access/session-rules.ts puts those of several roles together. */
export const roleOptionsSchema = z.strictObject({
  max_session_ttl: durationText.optional(),
  forward_agent: z.boolean().optional(),
  port_forwarding: z.boolean().optional(),
  ssh_file_copy: z.boolean().optional(),
  permit_x11_forwarding: z.boolean().optional(),
});
export type RoleOptions = z.infer<typeof roleOptionsSchema>;
