import fc from "fast-check";
import { expect, test } from "vitest";
import type { UserIdentity } from "../identity/identity.ts";
import type { Role } from "../resources/role.ts";
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
])("the options of %j together: %j", ([lines, rules]) => {
  expect(sessionRules(roles(lines))).toMatchObject(rules);
});

const identity: UserIdentity = {
  kind: "user",
  name: "alice",
  roles: ["role-1", "role-2", "role-3"],
  traits: { logins: ["alice"] },
  logins: [],
  cluster: "c",
  validBefore: new Date("2026-11-20T13:00:00Z"),
};

function rulesFor(held: readonly Role[], login: string, labels: string): SessionRules {
  const node = { id: "1", name: "n", labels: labelsOf(labels) };
  return authorize({ identity, roles: held, ask: { kind: "ssh", node, login }, now: new Date("2026-11-20T12:00:00Z") }).rules;
}

const root = "allow root on *=*";
test.for<readonly [why: string, lines: readonly string[], portForwarding: boolean]>([
  ["a role that allows this has its say", [`${root}; port_forwarding=false`], false],
  ["so has a second one that allows it too", [root, `${root}; port_forwarding=false`], false],
  ["one about other hosts has not", [root, "allow root on env=prod; port_forwarding=false"], true],
  ["one about these hosts by an expression has", [root, "allow root on env=^d.v$; port_forwarding=false"], false],
  ["one about other logins has not", [root, "allow admin on *=*; port_forwarding=false"], true],
  ["one about this login by a trait that the user lacks has not", [root, "allow {{external.x}} on *=*; port_forwarding=false"], true],
  ["one of options only binds everywhere", [root, "port_forwarding=false"], false],
  ["one that only denies other things binds too", [root, "deny admin; port_forwarding=false"], false],
  ["one with hosts but no logins binds on these hosts", [root, "allow on env=dev; port_forwarding=false"], false],
  ["one with hosts but no logins does not bind elsewhere", [root, "allow on env=prod; port_forwarding=false"], true],
  ["one with logins but no hosts binds these logins", [root, "allow root; port_forwarding=false"], false],
  ["one with other logins but no hosts does not", [root, "allow admin; port_forwarding=false"], true],
  ["one whose hosts cannot be read binds: better too much than too little", [root, "allow root on env=^($; port_forwarding=false"], false],
])("root on a host of env=dev: %s", ([, lines, portForwarding]) => {
  expect(rulesFor(roles(lines), "root", "env=dev").portForwarding).toBe(portForwarding);
});

const option = fc
  .record({
    name: fc.constantFrom("forward_agent", "port_forwarding", "ssh_file_copy", "permit_x11_forwarding"),
    value: fc.boolean(),
  })
  .map(({ name, value }) => `${name}=${value}`);
const line = fc.uniqueArray(option, { maxLength: 3, selector: (one) => one.split("=")[0] }).map((options) => options.join(" "));

/** Whether the second are nowhere wider than the first. */
function isNoWider(before: SessionRules, after: SessionRules): boolean {
  const flags = ["forwardAgent", "portForwarding", "fileCopy", "x11Forwarding"] as const;
  return flags.every((flag) => before[flag] || !after[flag]);
}

test("one more role never lifts what another forbids, and never takes back what nobody mentions", () => {
  fc.assert(
    fc.property(fc.array(line, { maxLength: 3 }), line, (held, added) => {
      const forbidden = held.flatMap((one) => one.split(" ").filter((word) => word.endsWith("=false")));
      const rules = sessionRules(roles([...held, added, ...held]));
      // The forbidding words alone are the widest that may come out.
      const widest = sessionRules(roles([...forbidden, "forward_agent=true", "permit_x11_forwarding=true"]));
      expect(isNoWider(widest, rules)).toBe(true);
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
