import { auditEvents, confirmed, count, moment, server, short, text, userFacts } from "../../audit/event-spec.ts";

/** `relayed_by`: id of the proxy through which the user's browser came. */
const session = {
  ...server,
  user: short,
  sid: short,
  app_name: short,
  app_uri: text.optional(),
  app_public_addr: short.optional(),
  relayed_by: short.optional(),
};

/** `app_target_port`: of an application that has several ports. */
const target = { app_target_port: count.optional() };

/** Audit events of users' sessions with applications: of a connection that carries raw TCP, of all connections of a browser's session with a web application. */
export const appSessionEvents = auditEvents({
  /** `with_mfa`: the device that confirmed the session itself. */
  "app.session.start": {
    code: "T2007I",
    reporters: ["node"],
    fields: { ...session, ...target, ...userFacts, ...confirmed },
    newer: ["app_target_port", "roles", "traits", "with_mfa"],
  },
  /** `session_chunk_id`: id of the recording that holds the requests of the next minutes (T2009I each). */
  "app.session.chunk": { code: "T2008I", reporters: ["node"], fields: { ...session, session_chunk_id: short } },
  /** `reason`: why it ended, if a rule or a lock ended it, or the connection to the application failed. */
  "app.session.end": {
    code: "T2011I",
    reporters: ["node"],
    fields: { ...session, ...target, session_start: moment, bytes_transmitted: count, bytes_received: count, reason: text.optional() },
    newer: ["app_target_port"],
  },
});
