import fc from "fast-check";
import { expect, test } from "vitest";
import type { UserIdentity } from "../identity/identity.ts";
import { type Role, roleSchema } from "../resources/role.ts";
import type { ServedAsk } from "./ask.ts";
import { authorize } from "./authorize.ts";

/* `without`: names that are decided later, or that a resource does not have. */

const now = new Date("2026-11-20T12:00:00Z");
const identity: UserIdentity = {
  kind: "user",
  name: "alice",
  roles: ["one", "two"],
  traits: {},
  principals: {},
  cluster: "c",
  validBefore: new Date("2026-11-20T13:00:00Z"),
};

function role(name: string, allow: object, deny: object = {}): Role {
  return roleSchema.parse({ kind: "role", version: "v7", metadata: { name }, spec: { allow, deny } });
}

const labels = { db_labels: { env: "test" } };
const reader = role("one", { ...labels, db_users: ["reader"], db_names: ["shop"] });
const nameless = role("one", { ...labels, db_users: ["reader"] });
const userless = role("one", { ...labels });

type Names = NonNullable<ServedAsk<"db">["names"]>;

function outcome(roles: readonly Role[], names: Names, without: readonly string[]): string {
  const ask = { kind: "db", served: { name: "orders", labels: { env: "test" } }, names, without, serverId: "1" } as const;
  try {
    authorize({ identity, roles, locks: [], ask, now });
    return "allowed";
  } catch (thrown) {
    return (thrown as Error).message;
  }
}

test.for<readonly [what: string, roles: readonly Role[], names: Names, without: readonly string[], expected: RegExp]>([
  ["both names are stated", [reader], { user: "reader", name: "shop" }, [], /^allowed$/],
  ["a name that is left out needs some name in a role", [reader], { user: "reader" }, [], /^allowed$/],
  ["a role without logical databases allows none", [nameless], { user: "reader" }, [], /no role lists a database name/],
  ["unless they are decided later", [nameless], { user: "reader" }, ["name"], /^allowed$/],
  [
    "what is decided later is not denied now",
    [role("one", { ...labels, db_users: ["reader"] }, { db_names: ["*"] })],
    { user: "reader" },
    ["name"],
    /^allowed$/,
  ],
  ["a stated account is checked, whatever is decided later", [reader], { user: "writer" }, ["name"], /no role lists this database user/],
  ["so is a denied one", [role("one", { ...labels, db_users: ["*"] }, { db_users: ["root"] })], { user: "root" }, ["name"], /role one denies it/],
  ["no account at all: the labels alone decide", [userless], {}, ["user", "name"], /^allowed$/],
  [
    "the labels still have to match",
    [role("one", { db_labels: { env: "prod" }, db_users: ["*"] })],
    {},
    ["user", "name"],
    /none of the roles one, two allows its labels/,
  ],
  ["a role that denies the labels denies all", [reader, role("two", {}, labels)], {}, ["user", "name"], /role two denies its labels/],
  ["no role", [], {}, ["user", "name"], /none of the roles one, two allows its labels/],
  [
    "a parameter that the kind does not have changes nothing",
    [nameless],
    { user: "reader" },
    ["login", "__proto__"],
    /no role lists a database name/,
  ],
  [
    "one role has to allow the account and the logical database together",
    [role("one", { ...labels, db_users: ["reader"] }), role("two", { ...labels, db_names: ["shop"] })],
    { user: "reader", name: "shop" },
    [],
    /no role allows database user and database name together/,
  ],
])("%s", ([, roles, names, without, expected]) => {
  expect(outcome(roles, names, without)).toMatch(expected);
});

test("whatever the roles: deciding names later never refuses more, and what is allowed with all names is allowed on arrival", () => {
  const name = fc.constantFrom("reader", "writer", "shop", "*");
  const list = fc.option(fc.array(name, { maxLength: 3 }), { nil: undefined });
  const side = fc.record(
    { db_labels: fc.constantFrom({ env: "test" }, { env: "prod" }, { "*": "*" }), db_users: list, db_names: list },
    { requiredKeys: [] },
  );
  const roles = fc.tuple(fc.tuple(side, fc.record({ db_users: list, db_names: list }, { requiredKeys: [] })), fc.tuple(side, fc.constant({})));
  fc.assert(
    fc.property(roles, name, name, ([[a, b], [c, d]], user, schema) => {
      const given = (value: object): object => JSON.parse(JSON.stringify(value)) as object;
      const held = [role("one", given(a), given(b)), role("two", given(c), given(d))];
      if (outcome(held, { user, name: schema }, []) !== "allowed") return;
      expect(outcome(held, { user }, ["name"])).toBe("allowed");
      expect(outcome(held, {}, ["user", "name"])).toBe("allowed");
    }),
  );
});
