import { z } from "zod";
import { sshSession } from "../../kinds/ssh/session-facts.ts";
import { auditEvents, change, count, short, text } from "../event-spec.ts";

export const recordingEvents = auditEvents({
  /** The auth service has a recording in full. */
  "session.upload": { code: "T2005I", fields: { ...sshSession, bytes: count, interrupted: z.boolean() } },
  /** A terminal session, or the rest of it, is not recorded although it should be. */
  "session.recording.failed": { code: "T2013W", reporters: ["node", "proxy"], fields: { ...sshSession, reason: text } },
  /** `user` viewed the recording of a session of `name`. */
  "session.recording.access": { code: "T2012I", fields: { ...change, sid: short } },
});
