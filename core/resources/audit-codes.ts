import type { AuditEventName, AuditFacts, ScpAction, SftpAction } from "./audit-event-schema.ts";
import { type PlainEventName, plainEvents } from "./resource-specs.ts";

const ownCodes: Readonly<Record<Exclude<AuditEventName, PlainEventName>, readonly [good: string, bad: string]>> = {
  "user.login": ["T1000I", "T1000W"],
  "user.create": ["T1002I", "T1002I"],
  "user.update": ["T1003I", "T1003I"],
  "user.delete": ["T1004I", "T1004I"],
  "user.locked": ["T1010W", "T1010W"],
  "user.unlocked": ["T1011I", "T1011I"],
  "session.start": ["T2000I", "T2000I"],
  "app.session.start": ["T2007I", "T2007I"],
  "app.session.end": ["T2011I", "T2011I"],
  resize: ["T2002I", "T2002I"],
  "session.join": ["T2001I", "T2001I"],
  "session.leave": ["T2003I", "T2003I"],
  "session.end": ["T2004I", "T2004I"],
  "session.upload": ["T2005I", "T2005I"],
  "session.data": ["T2006I", "T2006I"],
  "session.connect": ["T2010I", "T2010I"],
  "session.recording.access": ["T2012I", "T2012I"],
  "session.recording.failed": ["T2013W", "T2013W"],
  subsystem: ["T3001I", "T3001E"],
  exec: ["T3002I", "T3002E"],
  scp: ["T3004I", "T3004E"],
  "session.rejected": ["T1006W", "T1006W"],
  "client.disconnect": ["T3006I", "T3006I"],
  sftp: ["TS001I", "TS001E"],
  sftp_summary: ["TS021I", "TS021I"],
  port: ["T3003I", "T3003E"],
  auth: ["T3007W", "T3007W"],
  x11: ["T3008I", "T3008E"],
  "host_user.created": ["TH001I", "TH001I"],
  "host_user.removed": ["TH002I", "TH002I"],
  "invite.create": ["T6000I", "T6000I"],
  "invite.accepted": ["T6001I", "T6001I"],
  "invite.refused": ["T6001W", "T6001W"],
  "join_token.create": ["T8000I", "T8000I"],
  "join_token.delete": ["T8001I", "T8001I"],
  "join_token.update": ["T8002I", "T8002I"],
  "role.created": ["T9000I", "T9000I"],
  "role.deleted": ["T9001I", "T9001I"],
  "role.updated": ["T9002I", "T9002I"],
  "instance.join": ["TJ002I", "TJ002W"],
  "instance.renew": ["TJ003I", "TJ003W"],
  "lock.created": ["TLK00I", "TLK00I"],
  "lock.deleted": ["TLK01I", "TLK01I"],
  "node.updated": ["TN001I", "TN001I"],
  "node.deleted": ["TN002I", "TN002I"],
  "maintenance.updated": ["TM001I", "TM001I"],
  "maintenance.deleted": ["TM002I", "TM002I"],
  "upgrade.done": ["TU001I", "TU001I"],
  "upgrade.failed": ["TU002W", "TU002W"],
  "upgrade.rolled_back": ["TU003W", "TU003W"],
  "upgrade.skipped": ["TU004I", "TU004I"],
  "rollout.updated": ["TR001I", "TR001I"],
  "rollout.deleted": ["TR002I", "TR002I"],
  "rollout.started": ["TR003I", "TR003I"],
  "rollout.stopped": ["TR004W", "TR004W"],
  "rollout.done": ["TR005I", "TR005I"],
  "rollout.paused": ["TR006I", "TR006I"],
  "rollout.resumed": ["TR007I", "TR007I"],
  "rollout.promoted": ["TR008I", "TR008I"],
  "agent.gone": ["TG001W", "TG001W"],
  "agent.back": ["TG002I", "TG002I"],
  "cert.create": ["TC000I", "TC000I"],
  "cert.refused": ["TC001W", "TC001W"],
  "authority.rotated": ["TCA01I", "TCA01I"],
  "access.denied": ["TA001W", "TA001W"],
};

const plainCodes = Object.fromEntries(plainEvents.map(([name, code]) => [name, [code, code] as const])) as unknown as Readonly<
  Record<PlainEventName, readonly [string, string]>
>;
const codes: Readonly<Record<AuditEventName, readonly [good: string, bad: string]>> = { ...ownCodes, ...plainCodes };

const sftpCodes: Readonly<Record<SftpAction, string>> = {
  open: "TS001",
  setstat: "TS007",
  remove: "TS011",
  mkdir: "TS012",
  rmdir: "TS013",
  rename: "TS016",
  symlink: "TS018",
  link: "TS019",
};

const scpCodes: Readonly<Record<ScpAction, string>> = { download: "T3004", upload: "T3005" };

/** Every event with every code that it can have; docs/audit.md lists them. */
export function auditCodes(): ReadonlyMap<AuditEventName, readonly string[]> {
  const names = Object.keys(codes) as AuditEventName[];
  const both = (byAction: Readonly<Record<string, string>>): string[] => Object.values(byAction).flatMap((code) => [`${code}I`, `${code}E`]);
  const own: Partial<Record<AuditEventName, string[]>> = { sftp: both(sftpCodes), scp: both(scpCodes) };
  return new Map(names.map((name) => [name, own[name] ?? [...new Set(codes[name])]]));
}

/** Events that count as failures when they have an error. */
const failing = new Set<AuditEventName>(["exec", "subsystem", "sftp", "scp"]);

/** The code of an event: by its name, and by whether it succeeded. */
export function codeAt(facts: AuditFacts): string {
  const bad = ("success" in facts && !facts.success) || (failing.has(facts.event) && "error" in facts && facts.error !== undefined);
  if (facts.event === "sftp") return `${sftpCodes[facts.action]}${bad ? "E" : "I"}`;
  if (facts.event === "scp") return `${scpCodes[facts.action]}${bad ? "E" : "I"}`;
  return codes[facts.event][bad ? 1 : 0];
}
