import { expect, test } from "vitest";
import { profileOf } from "../../profile/testing/profile-of.ts";
import { chooseNames } from "./choose-names.ts";

const facts = (user: readonly string[], name: readonly string[]) => profileOf({ principals: { db: { user, name } } }).facts;
const none = { user: undefined, name: undefined, before: undefined };
const postgres = { name: "orders", protocol: "postgres" };
const mysql = { name: "shop", protocol: "mysql" };

test.for([
  ["the only ones are chosen", postgres, none, facts(["reader"], ["orders"]), { user: "reader", name: "orders" }],
  ["given ones count, whatever the certificate lists", postgres, { ...none, user: "x", name: "y" }, facts(["reader"], []), { user: "x", name: "y" }],
  [
    "those before count among several",
    postgres,
    { ...none, before: { user: "b", name: "y" } },
    facts(["a", "b"], ["x", "y"]),
    { user: "b", name: "y" },
  ],
  ["without listed names the client's default may do", postgres, none, facts(["reader"], []), { user: "reader", name: "" }],
  ["names of MySQL are the server's own", mysql, none, facts(["reader"], ["a", "b"]), { user: "reader", name: "" }],
] as const)("%s", ([, database, given, from, chosen]) => {
  expect(chooseNames(database, given, from)).toEqual(chosen);
});

test.for([
  [none, facts(["a", "b"], ["x"]), /^--db-user is missing: /, /your roles list a, b; for example: tsh db login --db-user=a orders$/],
  [none, facts([], ["x"]), /^--db-user is missing: /, /your roles list none by name \(db_users\)/],
  [none, facts(["a"], ["x", "y"]), /^--db-name is missing: /, /your roles list x, y; for example: tsh db login --db-name=x orders$/],
  [{ ...none, before: { user: "gone", name: "" } }, facts(["a", "b"], ["x"]), /^--db-user is missing: /, /a, b/],
  [{ ...none, user: "a\nb" }, facts([], []), /^--db-user "a\\nb" is not a name/, /control characters/],
  [{ ...none, user: "" }, facts(["a"], []), /is not a name/, /1 to 64/],
] as const)("a missing or impossible name: %#", ([given, from, message, hint]) => {
  expect(() => chooseNames(postgres, given, from)).toThrow(
    expect.objectContaining({ code: "invalid", message: expect.stringMatching(message), hint: expect.stringMatching(hint) }),
  );
});

test("a profile of an older tsh has no names of databases", () => {
  expect(chooseNames(postgres, { ...none, user: "a" }, profileOf({ principals: {} }).facts)).toEqual({ user: "a", name: "" });
});
