import { z } from "zod";
import { auditEvents, change, short } from "../event-spec.ts";

export const certificateEvents = auditEvents({
  /**
   * Certificates that an admin requested for a machine (`name` is the user) or for an OpenSSH host (`name` is its first name). `route_to_app`: the only
   * application that it opens, and the session of a browser there that it was issued for.
   */
  "cert.create": {
    code: "TC000I",
    fields: {
      ...change,
      kind: z.enum(["user", "host", "db", "db_client"]),
      expires: short,
      route_to_app: z.strictObject({ name: short, session_id: short.optional() }).optional(),
    },
  },
  /** An authority (`name`) went from one phase of its rotation to the next. */
  "authority.rotated": { code: "TCA01I", fields: { ...change, from: short, to: short } },
});
