import { z } from "zod";
import { auditEvents, change, count, server, short, text } from "../event-spec.ts";

/** `login` for ssh, `kind` and `resource` for other services. */
const recorded = { ...server, user: short, login: short.optional(), kind: short.optional(), resource: short.optional(), sid: short };

export const recordingEvents = auditEvents({
  /** The auth service has a recording in full. */
  "session.upload": { code: "T2005I", fields: { ...recorded, bytes: count, interrupted: z.boolean() } },
  /** A session at a terminal or with a database, or the rest of it, is not recorded although it should be. */
  "session.recording.failed": { code: "T2013W", reporters: ["node", "proxy"], fields: { ...recorded, reason: text } },
  /** `user` viewed the recording of a session of `name`. */
  "session.recording.access": { code: "T2012I", fields: { ...change, sid: short } },
});
