import fc from "fast-check";
import { expect, test } from "vitest";
import { PlatformError } from "../errors/platform-error.ts";
import type { UserIdentity } from "../identity/identity.ts";
import { type Lock, removalLockName } from "../resources/lock.ts";
import type { Role, RoleConditions } from "../resources/role.ts";
import type { Ask, SshAsk } from "./ask.ts";
import { authorize, type Grant, isGrant } from "./authorize.ts";

const now = new Date("2026-11-20T12:00:00Z");
const prod: SshAsk["node"] = { id: "1", name: "web-1", labels: { env: "prod", app: "web" } };
const bare: SshAsk["node"] = { id: "2", name: "bare", labels: {} };

function identity(more: Partial<UserIdentity> = {}): UserIdentity {
  const validBefore = new Date("2026-11-20T13:00:00Z");
  return {
    kind: "user",
    name: "alice",
    roles: ["one", "two"],
    traits: { logins: ["alice"] },
    principals: { ssh: { login: ["root"] } },
    cluster: "c",
    validBefore,
    ...more,
  };
}

function role(name: string, allow?: RoleConditions, deny?: RoleConditions): Role {
  return { kind: "role", version: "v7", metadata: { name }, spec: { ...(allow && { allow }), ...(deny && { deny }) } };
}

const everywhere = { "*": "*" };
const root = role("one", { logins: ["root"], node_labels: everywhere });
const rootOnProd = role("one", { logins: ["root"], node_labels: { env: "prod" } });
const ssh = (login?: string, node = prod): SshAsk => ({ kind: "ssh", node, ...(login === undefined ? {} : { login }) });
const ask = (resource: string, verb: "list" | "create" | "read" | "update" | "delete"): Ask => ({ kind: "resource", resource, verb });
const rules = (resources: string[], verbs: ("list" | "create" | "read" | "update" | "delete" | "*")[]): RoleConditions => ({
  rules: [{ resources, verbs }],
});

test.for<readonly [string, readonly Role[], Ask]>([
  ["a login on a node that a role allows", [root], ssh("root")],
  ["a node without labels when all are allowed", [root], ssh("root", bare)],
  ["a node by its label", [rootOnProd], ssh("root")],
  ["a login from a template", [role("one", { logins: ["{{internal.logins}}"], node_labels: everywhere })], ssh("alice")],
  [
    "a login by the second role",
    [role("one", { logins: ["a"], node_labels: everywhere }), role("two", { logins: ["b"], node_labels: everywhere })],
    ssh("b"),
  ],
  ["a glob in a label", [role("one", { logins: ["root"], node_labels: { app: "w*" } })], ssh("root")],
  ["an expression in a label", [role("one", { logins: ["root"], node_labels: { app: "^w.b$" } })], ssh("root")],
  ["one of several values", [role("one", { logins: ["root"], node_labels: { env: ["dev", "prod"] } })], ssh("root")],
  ["routing without a login when there is any", [root], ssh()],
  ["a login though another one is denied", [root, role("two", undefined, { logins: ["admin"] })], ssh("root")],
  ["routing though one login is denied", [root, role("two", undefined, { logins: ["admin"] })], ssh()],
  ["a node though another one is denied", [root, role("two", undefined, { node_labels: { env: "dev" } })], ssh("root")],
  ["a login though a role that the user lacks denies it", [root, role("other", undefined, { logins: ["root"] })], ssh("root")],
  ["a resource and verb by rule", [role("one", rules(["user"], ["read"]))], ask("user", "read")],
  ["any verb", [role("one", rules(["user"], ["*"]))], ask("user", "delete")],
  ["any resource", [role("one", rules(["*"], ["list"]))], ask("token", "list")],
  ["a resource by one of two roles", [role("one", rules(["user"], ["read"])), role("two", rules(["role"], ["read"]))], ask("role", "read")],
  ["a verb though another one is denied", [role("one", rules(["user"], ["*"]), rules(["user"], ["delete"]))], ask("user", "read")],
])("allowed: %s", ([, roles, wanted]) => {
  const grant = authorize({ identity: identity(), locks: [], roles, ask: wanted, now });
  expect(isGrant(grant)).toBe(true);
  expect(grant.ask).toEqual(wanted);
});

test.for<readonly [string, readonly Role[], Ask, RegExp]>([
  ["without roles", [], ssh("root"), /none of the roles one, two allows its labels/],
  ["with a role that allows nothing", [role("one")], ssh("root"), /none of the roles one, two allows/],
  ["with a role that the user lacks", [{ ...root, metadata: { name: "other" } }], ssh("root"), /none of the roles one, two allows/],
  ["a role without node labels", [role("one", { logins: ["root"] })], ssh("root"), /none of the roles one, two allows/],
  ["a role with empty node labels", [role("one", { logins: ["root"], node_labels: {} })], ssh("root"), /none of the roles one, two allows/],
  ["a node of another label", [rootOnProd], ssh("root", { ...prod, labels: { env: "dev", app: "web" } }), /none of the roles one, two allows/],
  ["a node without labels", [rootOnProd], ssh("root", bare), /none of the roles one, two allows/],
  ["a login that no role lists", [root], ssh("admin"), /may not log in as admin on web-1/],
  ["an empty login", [root], ssh(""), /may not log in as/],
  [
    "a login that only another node's role lists",
    [rootOnProd, role("two", { logins: ["admin"], node_labels: { env: "dev" } })],
    ssh("admin"),
    /no role lists this login/,
  ],
  ["a template of an absent trait", [role("one", { logins: ["{{internal.none}}"], node_labels: everywhere })], ssh("root"), /no role lists/],
  ["a template taken as text", [role("one", { logins: ["{{internal.none}}"], node_labels: everywhere })], ssh("{{internal.none}}"), /no role lists/],
  ["routing when no login is listed", [role("one", { node_labels: everywhere })], ssh(), /no role lists a login/],
  [
    "a login that the same role denies",
    [role("one", { logins: ["root"], node_labels: everywhere }, { logins: ["root"] })],
    ssh("root"),
    /role one denies it/,
  ],
  ["a login that another role denies", [root, role("two", undefined, { logins: ["root"] })], ssh("root"), /role two denies it/],
  ["a login denied by template", [root, role("two", undefined, { logins: ["{{internal.logins}}"] })], ssh("alice"), /role two denies it/],
  ["any login when all are denied", [root, role("two", undefined, { logins: ["*"] })], ssh("root"), /role two denies it/],
  ["a node that another role denies", [root, role("two", undefined, { node_labels: { env: "prod" } })], ssh("root"), /role two denies its labels/],
  ["a node that is denied by glob", [root, role("two", undefined, { node_labels: { app: "*" } })], ssh("root"), /denies its labels/],
  ["every node when all are denied", [root, role("two", undefined, { node_labels: everywhere })], ssh("root", bare), /denies its labels/],
  ["routing to a denied node", [root, role("two", undefined, { node_labels: { env: "prod" } })], ssh(), /denies its labels/],
  ["a denial that stands before the allowance", [role("two", undefined, { logins: ["root"] }), root], ssh("root"), /denies it/],
  ["a resource without rules", [root], ask("user", "read"), /none of the roles one, two allows alice to read user/],
  ["another verb", [role("one", rules(["user"], ["read"]))], ask("user", "update"), /to update user/],
  ["another resource", [role("one", rules(["user"], ["*"]))], ask("role", "read"), /to read role/],
  [
    "a rule that is denied",
    [role("one", rules(["*"], ["*"])), role("two", undefined, rules(["user"], ["delete"]))],
    ask("user", "delete"),
    /role two denies/,
  ],
  ["all that is denied", [role("one", rules(["*"], ["*"]), rules(["*"], ["*"]))], ask("user", "read"), /role one denies/],
  ["SSH by a resource rule", [role("one", rules(["*"], ["*"]))], ssh("root"), /none of the roles one, two allows/],
])("denied: %s", ([, roles, wanted, reason]) => {
  const attempt = (): unknown => authorize({ identity: identity(), locks: [], roles, ask: wanted, now });
  expect(attempt).toThrow(reason);
  expect(attempt).toThrow(expect.objectContaining({ code: "denied" }));
});

test.for([
  ["at its end", new Date("2026-11-20T13:00:00Z")],
  ["long after", new Date("2027-01-01T00:00:00Z")],
] as const)("an expired identity (%s) is denied everything", ([, time]) => {
  const attempt = (): unknown => authorize({ identity: identity(), locks: [], roles: [root], ask: ssh("root"), now: time });
  expect(attempt).toThrow(expect.objectContaining({ code: "unauthenticated" }));
});

test("a connection that is open outlives its certificate, and nothing else that would refuse it", () => {
  const later = new Date("2027-01-01T00:00:00Z");
  const open = { identity: identity(), locks: [], roles: [root], ask: ssh("root"), now: later, isOpen: true } as const;
  expect(isGrant(authorize(open))).toBe(true);
  const lock: Lock = { kind: "lock", version: "v2", metadata: { name: "l" }, spec: { target: { user: identity().name } } };
  for (const refused of [{ roles: [] }, { locks: [lock] }, { roles: [root, role("two", undefined, { logins: ["root"] })] }])
    expect(() => authorize({ ...open, ...refused })).toThrow(expect.objectContaining({ code: "denied" }));
});

test("a certificate from before its user was removed is refused; that of a later user of the same name is accepted", () => {
  const [gone, next] = ["a", "b"].map((digit) => digit.repeat(32)) as [string, string];
  const spec = { target: { user: identity().name }, message: "user was removed" };
  const locks: readonly Lock[] = [{ kind: "lock", version: "v2", metadata: { name: removalLockName(gone) }, spec }];
  for (const userId of [gone, undefined]) {
    const attempt = (): unknown => authorize({ identity: identity({ userId }), locks, roles: [root], ask: ssh("root"), now });
    expect(attempt).toThrow(expect.objectContaining({ code: "denied", message: expect.stringContaining("was removed") }));
  }
  expect(isGrant(authorize({ identity: identity({ userId: next }), locks, roles: [root], ask: ssh("root"), now }))).toBe(true);
});

test("an identity without roles is denied everything", () => {
  expect(() => authorize({ identity: identity({ roles: [] }), locks: [], roles: [root], ask: ssh("root"), now })).toThrow(
    /no role allows its labels/,
  );
});

test.for<readonly [string, (grant: Grant) => unknown]>([
  ["a literal of the same shape", (grant) => ({ identity: grant.identity, ask: grant.ask })],
  ["a copy", (grant) => ({ ...grant })],
  ["a clone", (grant) => structuredClone(grant)],
  ["an object with its prototype", (grant): unknown => Object.create(Object.getPrototypeOf(grant))],
  ["an heir", (grant): unknown => Object.create(grant)],
  ["a proxy", (grant) => new Proxy(grant, {})],
  ["true", () => true],
  ["null", () => null],
  ["undefined", () => undefined],
])("%s is not a grant", ([, make]) => {
  expect(isGrant(make(authorize({ identity: identity(), locks: [], roles: [root], ask: ssh("root"), now })))).toBe(false);
});

const word = fc.constantFrom("prod", "dev", "*", "p*");
const conditions: fc.Arbitrary<RoleConditions> = fc.record(
  {
    logins: fc.array(fc.constantFrom("root", "alice", "*", "{{internal.logins}}"), { maxLength: 2 }),
    node_labels: fc.dictionary(fc.constantFrom("env", "*"), fc.oneof(word, fc.array(word, { maxLength: 2 })), { maxKeys: 2 }),
    rules: fc.array(
      fc.record({
        resources: fc.array(fc.constantFrom("user", "role", "*"), { minLength: 1, maxLength: 2 }),
        verbs: fc.array(fc.constantFrom("read" as const, "delete" as const, "*" as const), { minLength: 1, maxLength: 2 }),
      }),
      { maxLength: 2 },
    ),
  },
  { requiredKeys: [] },
);
const asks: fc.Arbitrary<Ask> = fc.oneof(
  fc.constantFrom<Ask>(ssh(), ssh("root"), ssh("alice"), ssh("root", bare), ssh("admin", bare)),
  fc.constantFrom<Ask>(ask("user", "read"), ask("role", "delete")),
);

function allows(roles: readonly Role[], wanted: Ask): boolean {
  try {
    return isGrant(authorize({ identity: identity(), locks: [], roles, ask: wanted, now }));
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(PlatformError);
    return false;
  }
}

test("adding a deny never widens, and removing an allow never widens either", () => {
  fc.assert(
    fc.property(fc.array(conditions, { maxLength: 2 }), conditions, asks, (allowed, denied, wanted) => {
      const roles = allowed.map((allow, index) => role(index === 0 ? "one" : "two", allow));
      const before = allows(roles, wanted);
      if (allows([...roles, role("two", undefined, denied)], wanted)) expect(before).toBe(true);
      if (allows(roles.slice(1), wanted)) expect(before).toBe(true);
    }),
  );
});

test("the order of roles does not matter", () => {
  fc.assert(
    fc.property(conditions, conditions, conditions, asks, (first, second, denied, wanted) => {
      const roles = [role("one", first, denied), role("two", second)];
      expect(allows(roles, wanted)).toBe(allows(roles.toReversed(), wanted));
    }),
  );
});
