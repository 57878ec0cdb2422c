import fc from "fast-check";
import { expect, test } from "vitest";
import type { Lock } from "../resources/lock.ts";
import type { Role } from "../resources/role.ts";
import type { SshAsk } from "./ask.ts";
import { authorize } from "./authorize.ts";
import { explainAccess } from "./explain-access.ts";

const now = new Date("2026-11-23T12:00:00Z");
const role = (name: string, spec: Role["spec"]): Role => ({ kind: "role", version: "v7", metadata: { name }, spec });
const user = (...roles: string[]) => ({ metadata: { name: "ann" }, spec: { roles, traits: { logins: ["ann"] } } });
const ask = (login: string, labels: Record<string, string> = { env: "prod" }): SshAsk => ({
  kind: "ssh",
  node: { id: "1", name: "web-1", labels },
  login,
});
const roles = [
  role("prod", { allow: { node_labels: { env: "prod" }, logins: ["{{internal.logins}}"] } }),
  role("root", { allow: { node_labels: { "*": "*" }, logins: ["root"] } }),
  role("no-root", { deny: { logins: ["root"] } }),
  role("test", { allow: { node_labels: { env: "test" }, logins: ["ann"] } }),
  role("pinned", { options: { pin_source_ip: true } }),
];
const explain = (held: string[], login: string, locks: readonly Lock[] = []) =>
  explainAccess({ user: user(...held), roles, locks, ask: ask(login), now });

test("the role that allows it is named, and why the others do not", () => {
  expect(explain(["prod", "test", "gone"], "ann")).toEqual({
    allowed: true,
    reason: "ann may log in as ann on web-1: prod allows it",
    roles: [
      { role: "prod", says: "allows" },
      { role: "test", says: "nothing", why: "ann may not reach web-1: role test does not allow its labels" },
      { role: "gone", says: "nothing", why: "the role does not exist" },
    ],
  });
});

test("the role that denies it beats the one that allows it", () => {
  expect(explain(["root", "no-root"], "root")).toEqual({
    allowed: false,
    reason: "ann may not log in as root: role no-root denies it",
    roles: [
      { role: "root", says: "allows" },
      { role: "no-root", says: "denies", why: "ann may not log in as root: role no-root denies it" },
    ],
  });
});

test("a lock beats all roles; that of a removed user of the same name does not count", () => {
  const lock = (name: string): Lock => ({
    kind: "lock",
    version: "v2",
    metadata: { name },
    spec: { target: { user: "ann" }, message: "laptop lost" },
  });
  const locked = explain(["prod"], "ann", [lock("l1")]);
  expect([locked.allowed, locked.reason]).toEqual([false, expect.stringContaining("lock l1: laptop lost")]);
  expect(locked.roles).toEqual([{ role: "prod", says: "allows" }]);
  expect(explain(["prod"], "ann", [lock(`removed-user-${"0".repeat(32)}`)]).allowed).toBe(true);
});

test("a role that pins the address does not stand in the way", () => {
  expect(explain(["prod", "pinned"], "ann").allowed).toBe(true);
});

test("an account that no single role allows is explained with the whole decision", () => {
  const split = [role("labels", { allow: { node_labels: { env: "prod" } } }), role("logins", { allow: { logins: ["root"] } })];
  const { allowed, roles: says } = explainAccess({ user: user("labels", "logins"), roles: split, locks: [], ask: ask("root"), now });
  expect([allowed, says.map((one) => one.says)]).toEqual([false, ["nothing", "nothing"]]);
});

test("the explanation is the decision, whatever the roles", () => {
  const labels = fc.constantFrom({ env: "prod" }, { env: "test" }, { "*": "*" });
  const conditions = fc.record({ node_labels: labels, logins: fc.subarray(["ann", "root", "{{internal.logins}}"]) }, { requiredKeys: [] });
  const some = fc.array(fc.record({ allow: conditions, deny: fc.option(conditions, { nil: {}, freq: 2 }) }), { maxLength: 4 });
  fc.assert(
    fc.property(some, fc.constantFrom("ann", "root"), (specs, login) => {
      const all = specs.map((spec, at) => role(`r${at}`, spec));
      const ann = user(...all.map(({ metadata }) => metadata.name));
      const { allowed, roles: says } = explainAccess({ user: ann, roles: all, locks: [], ask: ask(login), now });
      const identity = {
        kind: "user",
        name: "ann",
        roles: ann.spec.roles,
        traits: ann.spec.traits,
        principals: {},
        cluster: "",
        validBefore: new Date(now.getTime() + 1),
      } as const;
      let decided = true;
      try {
        authorize({ identity, roles: all, ask: ask(login), locks: [], now });
      } catch {
        decided = false;
      }
      expect(allowed).toBe(decided);
      if (says.some((one) => one.says === "denies")) expect(allowed).toBe(false);
      if (allowed) expect(says.some((one) => one.says === "allows")).toBe(true);
    }),
  );
});
