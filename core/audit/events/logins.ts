import { z } from "zod";
import { auditEvents, change, count, outcome, short, text } from "../event-spec.ts";

export const loginEvents = auditEvents({
  /** `method` and `sid` only of a login in a browser, `mfa_device` of one with a passkey. */
  "user.login": {
    code: ["T1000I", "T1000W"],
    fields: { ...outcome, user: short, method: z.enum(["browser", "passkey"]).optional(), sid: short.optional(), mfa_device: short.optional() },
  },
  /** `user` changed the own password. */
  "user.password_change": { code: ["T1014I", "T1014W"], fields: { ...outcome, user: short } },
  /** `user` asked for another authenticator, and then confirmed it. */
  "user.authenticator_start": { code: ["T1017I", "T1017W"], fields: { ...outcome, user: short } },
  "user.authenticator_change": { code: ["T1018I", "T1018W"], fields: { ...outcome, user: short } },
  /** `user` asked for another passkey, and then added it, or removed one. */
  "mfa.add_start": { code: ["T1021I", "T1021W"], fields: { ...outcome, user: short, mfa_device: short } },
  "mfa.add": { code: ["T1006I", "T1019W"], fields: { ...outcome, user: short, mfa_device: short } },
  "mfa.delete": { code: ["T1007I", "T1007W"], fields: { ...outcome, user: short, mfa_device: short } },
  /** The count of a passkey's uses did not go up: there may be a copy of it. */
  "mfa.possible_copy": { code: "T1020W", fields: { user: short, mfa_device: short, stored_count: count, sent_count: count } },
  /** `user` ended a session of `name` in a browser. */
  "browser_session.end": { code: "T1012I", fields: { ...change, sid: short } },
  /** A one-time code, or a passkey, for a session with a resource: a host's id for `ssh`, a session's for `join`. */
  "mfa_auth_challenge.validate": {
    code: ["T1016I", "T1016W"],
    fields: { ...outcome, user: short, mfa_device: short, resource_kind: short, resource_name: short },
  },
  "user.locked": { code: "T1010W", fields: { user: short, locked_until: short } },
  "user.unlocked": { code: "T1011I", fields: change },
  "invite.create": { code: "T6000I", fields: { ...change, expires: short } },
  "invite.accepted": { code: "T6001I", fields: { user: short } },
  "invite.refused": { code: "T6001W", fields: { user: short.optional(), error: text } },
});
