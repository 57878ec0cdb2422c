import { z } from "zod";
import { type ServedField, servedKinds, serviceKinds } from "../../kinds/service-kinds.ts";
import { auditEvents, server, short, text } from "../event-spec.ts";

/** The resource of a service: the field of its kind. */
const served = Object.fromEntries(servedKinds.map((kind) => [serviceKinds[kind].served.field, short.optional()])) as Record<
  ServedField,
  z.ZodOptional<typeof short>
>;

/** Refusals by services, proxies and the auth service. */
export const refusalEvents = auditEvents({
  /** A host or proxy refused a user: unknown authority, expired certificate, login not listed, denied label. */
  auth: {
    code: "T3007W",
    reporters: ["node", "proxy", "auth"],
    fields: {
      error: text,
      user: short.optional(),
      login: short.optional(),
      ...served,
      server_id: short.optional(),
      server_name: short.optional(),
      sid: short.optional(),
    },
  },
  /** A session that a limit of the user's roles refused. */
  "session.rejected": {
    code: "T1006W",
    reporters: ["node"],
    fields: { ...server, user: short, login: short.optional(), ...served, sid: short, reason: text, maximum: z.int() },
  },
  /** A client certificate that was presented to the auth service and refused. */
  "cert.refused": { code: "TC001W", reporters: ["proxy"], fields: { error: text, user: short.optional() } },
  /** A call to the auth service's API that the caller's roles do not allow. */
  "access.denied": { code: "TA001W", fields: { error: text, user: short, method: short } },
});
