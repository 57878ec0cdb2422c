import { z } from "zod";
import { auditEvents, change, short } from "../event-spec.ts";

export const certificateEvents = auditEvents({
  /** Certificates that an admin requested for a machine (`name` is the user) or for an OpenSSH host (`name` is its first name). */
  "cert.create": { code: "TC000I", fields: { ...change, kind: z.enum(["user", "host", "db", "db_client"]), expires: short } },
  /** An authority (`name`) went from one phase of its rotation to the next. */
  "authority.rotated": { code: "TCA01I", fields: { ...change, from: short, to: short } },
});
