import { auditEvents, count, moment, server, short, text } from "../../audit/event-spec.ts";

const session = { ...server, user: short, sid: short, app_name: short };

/** Audit events of users' connections to applications. */
export const appSessionEvents = auditEvents({
  "app.session.start": { code: "T2007I", reporters: ["node"], fields: session },
  /** `reason`: why it ended, if a rule or a lock ended it. */
  "app.session.end": {
    code: "T2011I",
    reporters: ["node"],
    fields: { ...session, session_start: moment, bytes_transmitted: count, bytes_received: count, reason: text.optional() },
  },
});
