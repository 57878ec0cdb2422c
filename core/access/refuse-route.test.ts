import fc from "fast-check";
import { expect, test } from "vitest";
import { PlatformError } from "../errors/platform-error.ts";
import type { Route, UserIdentity } from "../identity/identity.ts";
import { serviceNames } from "../kinds/service-kinds.ts";
import { joinModes } from "../resources/session.ts";
import type { Ask } from "./ask.ts";
import { type AuthorizeFacts, authorize } from "./authorize.ts";
import { authorizeJoin } from "./authorize-join.ts";
import { roleOf } from "./testing/role-of.ts";

const now = new Date("2026-11-20T12:00:00Z");
/** Roles that allow everything: what is refused below is refused for the route alone. */
const roles = [
  roleOf("allow root on *=*", "ssh", "ssh"),
  roleOf("allow on *=*", "app", "app"),
  { ...roleOf("", "admin", "ssh"), spec: { allow: { rules: [{ resources: ["*"], verbs: ["*" as const] }] } } },
];
function facts(route: Route | undefined): Omit<AuthorizeFacts, "ask"> {
  const validBefore = new Date("2026-11-20T13:00:00Z");
  const names = roles.map(({ metadata }) => metadata.name);
  const identity: UserIdentity = { kind: "user", name: "alice", roles: names, traits: {}, principals: {}, cluster: "c", validBefore };
  return { identity: { ...identity, ...(route && { route }) }, roles, locks: [], now };
}
const orders: Route = { kind: "app", name: "orders" };
const app = (name: string): Ask => ({ kind: "app", served: { name, labels: {} }, serverId: "1" });
const node = { id: "orders", name: "orders", labels: {} };
const session = { sid: "1", kind: "ssh" as const, user: "alice", login: "root", roles: ["ssh"], mode: joinModes[0] };

test.for<readonly [string, Route, Ask]>([
  ["another application", orders, app("billing")],
  ["an application whose name only begins the same", orders, app("orders2")],
  ["an application in capital letters", orders, app("Orders")],
  ["an application by a route without a name", { kind: "app", name: "" }, app("orders")],
  ["an application by a route of another kind", { kind: "db", name: "orders" }, app("orders")],
  ["an application by a route of an unknown kind", { kind: "apps", name: "orders" }, app("orders")],
  ["a host of the same name", orders, { kind: "ssh", node, login: "root" }],
  ["routing to a host of the same name", orders, { kind: "ssh", node }],
  ["a host, even by a route to it: SSH has certificates of its own", { kind: "ssh", name: "orders" }, { kind: "ssh", node, login: "root" }],
  ["joining a session, one's own too", orders, { kind: "join", node, session }],
  ["joining any session", orders, { kind: "join", node: { id: "", name: "" } }],
  ["reading a resource", orders, { kind: "resource", resource: "app", verb: "read" }],
  ["changing a resource, by a route to it", { kind: "resource", name: "role" }, { kind: "resource", resource: "role", verb: "update" }],
])("refused with a certificate for one resource: %s", ([, route, ask]) => {
  expect(() => authorize({ ...facts(undefined), ask })).not.toThrow();
  expect(() => authorize({ ...facts(route), ask })).toThrow(
    expect.objectContaining({ code: "denied", message: expect.stringContaining("is only for") }),
  );
});

test("its own resource is allowed, as far as roles allow it", () => {
  expect(authorize({ ...facts(orders), ask: app("orders") }).rules).toBeDefined();
  expect(() => authorize({ ...facts(orders), roles: roles.slice(0, 1), ask: app("orders") })).toThrow(/allows? its labels/);
});

test("joining is refused before the session is looked at", () => {
  const target = { kind: "ssh" as const, server_id: "1", server_name: "web-1", user: "alice", roles: ["ssh"], login: "root" };
  expect(() => authorizeJoin({ ...facts(orders), sid: "s", mode: joinModes[0], session: target })).toThrow(/is only for app "orders"/);
});

test("whatever the route and the ask: a route never allows what is refused without it, and allows its own resource only", () => {
  const name = fc.constantFrom("orders", "billing", "Orders", "", "*", "a/b", "\ud800");
  const kind = fc.constantFrom(...serviceNames, "resource", "join", "db", "");
  const asks = fc.oneof(
    name.map(app),
    name.map((id): Ask => ({ kind: "ssh", node: { id, name: id, labels: {} }, login: "root" })),
    name.map((resource): Ask => ({ kind: "resource", resource, verb: "list" })),
  );
  const held = fc.subarray(roles);
  const outcome = (asked: AuthorizeFacts): string => {
    try {
      authorize(asked);
      return "allowed";
    } catch (thrown) {
      expect(thrown).toBeInstanceOf(PlatformError);
      return (thrown as PlatformError).code;
    }
  };
  fc.assert(
    fc.property(fc.record({ kind, name }), asks, held, (route, ask, some) => {
      const isOwn = ask.kind === "app" && route.kind === "app" && route.name === ask.served.name;
      const without = outcome({ ...facts(undefined), roles: some, ask });
      expect(outcome({ ...facts(route), roles: some, ask })).toBe(isOwn ? without : "denied");
    }),
  );
});

test("a certificate for one account: that one, or a name that is decided later; no other", () => {
  const reader = roleOf("allow on *=*", "db", "db");
  const held = { ...reader, spec: { allow: { ...reader.spec.allow, db_users: ["*"], db_names: ["*"] } } };
  const route: Route = { kind: "db", name: "orders", account: "reader" };
  const ask = (names: { user?: string }, without: readonly string[]): Ask => ({ kind: "db", served: { name: "orders", labels: {} }, names, without });
  const known = { ...facts(route), identity: { ...facts(route).identity, roles: ["db"] }, roles: [held] };
  expect(authorize({ ...known, ask: ask({ user: "reader" }, ["name"]) }).ask).toBeDefined();
  expect(authorize({ ...known, ask: ask({}, ["user", "name"]) }).ask).toBeDefined();
  for (const other of [ask({ user: "writer" }, ["name"]), ask({ user: "READER" }, ["name"]), ask({ user: "" }, ["name"]), ask({}, ["name"])]) {
    expect(() => authorize({ ...known, ask: other })).toThrow(/is only for db "orders" as reader/);
  }
});
