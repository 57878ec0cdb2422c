import { z } from "zod";
import { auditEvents, confirmed, count, maxAuditCommand, moment, server, short, text } from "../../audit/event-spec.ts";
import { kubeSession } from "../kube/kube-events.ts";
import { sshSession } from "./session-facts.ts";

/** A session on a host, or in a pod. */
const session = { ...sshSession, ...kubeSession };

/** Audit events of sessions, of their programs, and of the Unix users made for them. */
export const sshSessionEvents = auditEvents({
  "session.start": { code: "T2000I", reporters: ["node"], fields: { ...session, ...confirmed, interactive: z.boolean() }, newer: ["with_mfa"] },
  "session.end": {
    code: "T2004I",
    reporters: ["node"],
    fields: {
      ...session,
      session_start: moment.optional(),
      exit_code: z.int().optional(),
      reason: text.optional(),
      /** If other users joined: all participants, the owner first. */
      participants: z.array(short).max(64).optional(),
    },
  },
  /** A terminal's new size, `columns:rows`. */
  resize: { code: "T2002I", reporters: ["node"], fields: { ...session, size: short } },
  /** `user` joined the running session of `owner`, and left it. */
  "session.join": {
    code: "T2001I",
    reporters: ["node"],
    fields: { ...session, ...confirmed, owner: short, mode: short },
    newer: ["with_mfa"],
  },
  "session.leave": { code: "T2003I", reporters: ["node"], fields: { ...session, owner: short, mode: short, reason: text.optional() } },
  /** Traffic of a session, or of a connection to a host without an agent: transmitted to the client, received from it. */
  "session.data": { code: "T2006I", reporters: ["node", "proxy"], fields: { ...session, bytes_transmitted: count, bytes_received: count } },
  /** A proxy connected a user to the sshd of a host without an agent (`addr`), and the traffic of that connection. `login` is empty if unknown. */
  "session.connect": { code: "T2010I", reporters: ["proxy"], fields: { ...sshSession, ...confirmed, addr: text }, newer: ["with_mfa"] },
  subsystem: { code: ["T3001I", "T3001E"], reporters: ["node"], fields: { ...sshSession, name: short, error: text.optional() } },
  exec: {
    code: ["T3002I", "T3002E"],
    reporters: ["node"],
    fields: { ...session, command: z.string().max(maxAuditCommand), exit_code: z.int().optional(), error: text.optional() },
  },
  /** A connection that the host ended: idle, certificate expired, locked. */
  "client.disconnect": { code: "T3006I", reporters: ["node"], fields: { ...session, reason: text } },
  /** A host created a Unix user for a session, and removed it after the last one. */
  "host_user.created": { code: "TH001I", reporters: ["node"], fields: { ...sshSession, mode: short, groups: z.array(short) } },
  "host_user.removed": { code: "TH002I", reporters: ["node"], fields: { ...server, login: short } },
});
