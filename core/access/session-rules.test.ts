import fc from "fast-check";
import { expect, test } from "vitest";
import type { UserIdentity } from "../identity/identity.ts";
import { type Role, roleSchema } from "../resources/role.ts";
import { authorize } from "./authorize.ts";
import { type SessionRules, sessionRules } from "./session-rules.ts";
import { labelsOf, roleOf } from "./testing/role-of.ts";

const roles = (lines: readonly string[]): readonly Role[] => lines.map((line, index) => roleOf(line, `role-${index + 1}`));

test.for<readonly [options: readonly string[], rules: Partial<SessionRules>]>([
  [[], { forwardAgent: false, portForwarding: true, fileCopy: true, x11Forwarding: false }],
  [[""], { forwardAgent: false, portForwarding: true, fileCopy: true, x11Forwarding: false }],
  [["forward_agent=true"], { forwardAgent: true }],
  [["forward_agent=false"], { forwardAgent: false }],
  [["forward_agent=true", ""], { forwardAgent: true }],
  [["forward_agent=true", "forward_agent=false"], { forwardAgent: false }],
  [["forward_agent=true", "port_forwarding=false"], { forwardAgent: true, portForwarding: false }],
  [["port_forwarding=true"], { portForwarding: true }],
  [["port_forwarding=false"], { portForwarding: false }],
  [["port_forwarding=false", ""], { portForwarding: false }],
  [["port_forwarding=false", "port_forwarding=true"], { portForwarding: false }],
  [["ssh_file_copy=false", ""], { fileCopy: false }],
  [["ssh_file_copy=true", "ssh_file_copy=false"], { fileCopy: false }],
  [["permit_x11_forwarding=true"], { x11Forwarding: true }],
  [["permit_x11_forwarding=true", ""], { x11Forwarding: true }],
  [["permit_x11_forwarding=false", "permit_x11_forwarding=true"], { x11Forwarding: false }],
  [[], { idleTimeoutSeconds: undefined, disconnectExpired: false, maxSessions: undefined }],
  [["client_idle_timeout=5m"], { idleTimeoutSeconds: 300 }],
  [["client_idle_timeout=never"], { idleTimeoutSeconds: undefined }],
  [["client_idle_timeout=never", "client_idle_timeout=1h30m"], { idleTimeoutSeconds: 5400 }],
  [["client_idle_timeout=10m", "client_idle_timeout=90s", ""], { idleTimeoutSeconds: 90 }],
  [["disconnect_expired_cert=true", "disconnect_expired_cert=false"], { disconnectExpired: true }],
  [["disconnect_expired_cert=false"], { disconnectExpired: false }],
  [[], { dbReplication: false }],
  [["db_replication=true", ""], { dbReplication: true }],
  [["db_replication=true", "db_replication=false"], { dbReplication: false }],
  [["max_sessions=3"], { maxSessions: 3 }],
  [["max_sessions=3", "max_sessions=1", "max_sessions=9"], { maxSessions: 1 }],
  [["max_sessions=3", ""], { maxSessions: 3 }],
])("the options of %j together: %j", ([lines, rules]) => {
  expect(sessionRules(roles(lines))).toMatchObject(rules);
});

test.for<readonly [records: readonly object[], strictRecording: boolean]>([
  [[], false],
  [[{}], false],
  [[{ default: "strict" }], true],
  [[{ ssh: "strict" }], true],
  [[{ default: "strict", ssh: "best_effort" }], false],
  [[{ default: "best_effort", ssh: "strict" }], true],
  [[{ ssh: "best_effort" }, { default: "strict" }], true],
  [[{ ssh: "best_effort" }, {}], false],
])("record_session of %j together: strict is %s", ([records, strictRecording]) => {
  const held = records.map((record, index) => {
    const metadata = { name: `role-${index + 1}` };
    return roleSchema.parse({ kind: "role", version: "v7", metadata, spec: { options: { record_session: record } } });
  });
  expect(sessionRules(held)).toMatchObject({ strictRecording });
});

const identity: UserIdentity = {
  kind: "user",
  name: "alice",
  roles: ["role-1", "role-2", "role-3"],
  traits: { logins: ["alice"] },
  principals: {},
  cluster: "c",
  validBefore: new Date("2026-11-20T13:00:00Z"),
};

function rulesFor(held: readonly Role[], login: string, labels: string): SessionRules {
  const node = { id: "1", name: "n", labels: labelsOf(labels) };
  return authorize({ identity, locks: [], roles: held, ask: { kind: "ssh", node, login }, now: new Date("2026-11-20T12:00:00Z") }).rules;
}

const root = "allow root on *=*";
test.for<readonly [why: string, lines: readonly string[], portForwarding: boolean]>([
  ["a role that allows this applies", [`${root}; port_forwarding=false`], false],
  ["so does a second one that also allows it", [root, `${root}; port_forwarding=false`], false],
  ["one about other hosts does not", [root, "allow root on env=prod; port_forwarding=false"], true],
  ["one about these hosts by an expression does", [root, "allow root on env=^d.v$; port_forwarding=false"], false],
  ["one about other logins does not", [root, "allow admin on *=*; port_forwarding=false"], true],
  ["one about this login by a trait that the user lacks does not", [root, "allow {{external.x}} on *=*; port_forwarding=false"], true],
  ["one of options only binds everywhere", [root, "port_forwarding=false"], false],
  ["one that only denies other things binds too", [root, "deny admin; port_forwarding=false"], false],
  ["one with hosts but no logins binds on these hosts", [root, "allow on env=dev; port_forwarding=false"], false],
  ["one with hosts but no logins does not bind elsewhere", [root, "allow on env=prod; port_forwarding=false"], true],
  ["one with logins but no hosts binds these logins", [root, "allow root; port_forwarding=false"], false],
  ["one with other logins but no hosts does not", [root, "allow admin; port_forwarding=false"], true],
  ["one whose hosts are unreadable binds, to be safe", [root, "allow root on env=^($; port_forwarding=false"], false],
])("root on a host of env=dev: %s", ([, lines, portForwarding]) => {
  expect(rulesFor(roles(lines), "root", "env=dev").portForwarding).toBe(portForwarding);
});

const flag = fc.tuple(
  fc.constantFrom("forward_agent", "port_forwarding", "ssh_file_copy", "permit_x11_forwarding", "disconnect_expired_cert", "db_replication"),
  fc.boolean(),
);
const duration = fc.tuple(fc.constant("client_idle_timeout"), fc.constantFrom("never", "30s", "5m", "1h"));
const count = fc.tuple(fc.constant("max_sessions"), fc.integer({ min: 1, max: 9 }));
const option = fc.oneof(flag, duration, count).map(([name, value]) => `${name}=${value}`);
const line = fc.uniqueArray(option, { maxLength: 4, selector: (one) => one.split("=")[0] }).map((options) => options.join(" "));

/** Whether the second rules are nowhere wider than the first. */
function isNoWider(before: SessionRules, after: SessionRules): boolean {
  const flags = ["forwardAgent", "portForwarding", "fileCopy", "x11Forwarding", "dbReplication"] as const;
  const limits = ["idleTimeoutSeconds", "maxSessions"] as const;
  const most = Number.POSITIVE_INFINITY;
  return (
    flags.every((name) => before[name] || !after[name]) &&
    limits.every((name) => (after[name] ?? most) <= (before[name] ?? most)) &&
    (after.disconnectExpired || !before.disconnectExpired)
  );
}

/** Enables the options that are off by default. */
const opening = "forward_agent=true permit_x11_forwarding=true db_replication=true";

test("one more role never lifts what another restricts", () => {
  fc.assert(
    fc.property(fc.array(line, { maxLength: 3 }), line, (held, added) => {
      const before = sessionRules(roles([opening, ...held]));
      expect(isNoWider(before, sessionRules(roles([opening, ...held, added])))).toBe(true);
    }),
  );
});

test("what a role forbids or limits alone, it also does with other roles", () => {
  fc.assert(
    fc.property(fc.array(line, { maxLength: 3 }), line, (held, one) => {
      expect(isNoWider(sessionRules(roles([opening, one])), sessionRules(roles([...held, one, opening])))).toBe(true);
    }),
  );
});

test("the order of roles and a role held twice change nothing", () => {
  fc.assert(
    fc.property(fc.array(line, { maxLength: 4 }), (held) => {
      const rules = sessionRules(roles(held));
      expect(sessionRules(roles(held.toReversed()))).toEqual(rules);
      expect(sessionRules(roles([...held, ...held]))).toEqual(rules);
    }),
  );
});
