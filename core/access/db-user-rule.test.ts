import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type DbUserMode, type Role, roleSchema } from "../resources/role.ts";
import { authorize } from "./authorize.ts";
import { dbUserRule } from "./db-user-rule.ts";

interface Line {
  readonly mode?: DbUserMode;
  readonly old?: boolean;
  readonly labels?: Readonly<Record<string, string>>;
  readonly users?: readonly string[];
  readonly roles?: readonly string[];
  readonly deny?: object;
}

function roleOf({ mode, old, labels, users = [], roles = [], deny }: Line, name: string): Role {
  const options = { ...(mode !== undefined && { create_db_user_mode: mode }), ...(old !== undefined && { create_db_user: old }) };
  const allow = { ...(labels && { db_labels: labels }), db_users: users, db_names: ["orders"], db_roles: roles };
  return roleSchema.parse({ kind: "role", version: "v7", metadata: { name }, spec: { options, allow, ...(deny && { deny }) } });
}

const prod = { env: "prod" };
const traits = { db_roles: ["writers", "bad\nname", "*"], team: ["a"] };
const ask = { kind: "db", served: { name: "orders", labels: prod }, makesAccounts: true } as const;
const ruleOf = (...lines: readonly Line[]) => dbUserRule(ask, { held: lines.map((line, index) => roleOf(line, `r${index}`)), traits });

describe("the rule for accounts that agents make", () => {
  test.for<readonly [string, readonly Line[], ReturnType<typeof ruleOf>]>([
    ["no role speaks of it", [{ labels: prod }], undefined],
    ["keep", [{ labels: prod, mode: "keep", roles: ["readers"] }], { mode: "keep", roles: ["readers"] }],
    ["the older form", [{ labels: prod, old: true }], { mode: "keep", roles: [] }],
    [
      "the older form says no",
      [
        { labels: prod, old: false },
        { labels: prod, mode: "keep" },
      ],
      undefined,
    ],
    ["the mode comes before the older form", [{ labels: prod, old: false, mode: "best_effort_drop" }], { mode: "best_effort_drop", roles: [] }],
    ["drop before keep", [{ mode: "keep" }, { labels: prod, mode: "best_effort_drop" }], { mode: "best_effort_drop", roles: [] }],
    ["off before all", [{ labels: prod, mode: "keep" }, { mode: "off" }], undefined],
    [
      "off elsewhere does not count",
      [
        { labels: prod, mode: "keep" },
        { labels: { env: "dev" }, mode: "off" },
      ],
      { mode: "keep", roles: [] },
    ],
    [
      "the roles of all that allow the labels add up, sorted and once",
      [
        { labels: prod, mode: "keep", roles: ["writers", "readers"] },
        { labels: { "*": "*" }, roles: ["readers", "auditors"] },
        { labels: { env: "dev" }, roles: ["owners"] },
        { roles: ["owners"] },
      ],
      { mode: "keep", roles: ["auditors", "readers", "writers"] },
    ],
    ["a template's valid values", [{ labels: prod, mode: "keep", roles: ["{{internal.db_roles}}"] }], { mode: "keep", roles: ["writers"] }],
    [
      "a deny of any role, wherever it allows",
      [
        { labels: prod, mode: "keep", roles: ["readers", "writers"] },
        { labels: { env: "dev" }, deny: { db_roles: ["{{internal.db_roles}}"] } },
      ],
      { mode: "keep", roles: [] },
    ],
    ["a deny of one", [{ labels: prod, mode: "keep", roles: ["readers", "x"], deny: { db_roles: ["x"] } }], { mode: "keep", roles: ["readers"] }],
    [
      "a deny that cannot be read denies all",
      [{ labels: prod, mode: "keep", roles: ["readers"], deny: { db_roles: ["{{nonsense}}"] } }],
      { mode: "keep", roles: [] },
    ],
  ])("%s", ([, lines, expected]) => {
    expect(ruleOf(...lines)).toEqual(expected);
    expect(ruleOf(...lines.toReversed())).toEqual(expected);
  });

  test("a database without an admin_user makes none", () => {
    const held = [roleOf({ labels: prod, mode: "keep" }, "r")];
    expect(dbUserRule({ ...ask, makesAccounts: false }, { held, traits })).toBeUndefined();
    expect(dbUserRule({ kind: "app", served: ask.served, makesAccounts: true }, { held, traits })).toBeUndefined();
  });

  test("one more role never lets an agent do more to an account than the least permissive one", () => {
    const line = fc.record({ mode: fc.constantFrom<DbUserMode>("off", "keep", "best_effort_drop") });
    fc.assert(
      fc.property(fc.array(line, { maxLength: 4 }), line, (lines, more) => {
        const order = [undefined, "best_effort_drop", "keep"];
        const [before, after] = [ruleOf(...lines.map((one) => ({ ...one, labels: prod }))), ruleOf(...lines, more)];
        if (lines.length > 0 && before !== undefined) expect(order.indexOf(after?.mode)).toBeLessThanOrEqual(order.indexOf(before.mode));
        if (more.mode === "off") expect(after).toBeUndefined();
      }),
    );
  });
});

describe("the access decision where agents make accounts", () => {
  const identity = {
    kind: "user",
    name: "alice",
    roles: ["r0", "r1"],
    traits: {},
    principals: {},
    cluster: "c",
    validBefore: new Date(Date.now() + 3_600_000),
  } as const;
  const decide = (lines: readonly Line[], names: { readonly user?: string; readonly name?: string }, without: readonly string[] = []) =>
    authorize({
      identity,
      roles: lines.map((line, index) => roleOf(line, `r${index}`)),
      locks: [],
      ask: { ...ask, names, without, serverId: "h" },
      now: new Date(),
    });
  const made: Line = { labels: prod, mode: "keep", roles: ["readers"], users: ["reader"] };

  test("the user's own name is the account, which no role lists; the logical database still has to be listed", () => {
    expect(decide([made], { user: "alice", name: "orders" }).account).toEqual({ mode: "keep", roles: ["readers"] });
    expect(decide([made], {}, ["user", "name"]).account?.mode).toBe("keep");
    expect(() => decide([made], { user: "alice", name: "other" })).toThrow(expect.objectContaining({ code: "denied" }));
    expect(() => decide([made], { user: "reader", name: "orders" })).toThrow(/may connect to orders as alice only/);
    expect(() => decide([{ ...made, labels: { env: "dev" } }], { user: "alice", name: "orders" })).toThrow(
      expect.objectContaining({ code: "denied" }),
    );
  });

  test("a deny of the account counts; a role without the mode needs the account listed", () => {
    expect(() => decide([made, { deny: { db_users: ["alice"] } }], { user: "alice", name: "orders" })).toThrow(/role r1 denies it/);
    expect(() => decide([{ ...made, mode: "off" }], { user: "alice", name: "orders" })).toThrow(/no role lists this database user/);
    expect(decide([{ ...made, mode: "off" }], { user: "reader", name: "orders" }).account).toBeUndefined();
  });
});
