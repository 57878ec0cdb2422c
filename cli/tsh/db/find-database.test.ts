import { expect, test } from "vitest";
import { findDatabase } from "./find-database.ts";

const all = ["orders", "orders-old", "shop", "shop"].map((name, at) => ({ name, at }));

test.for([
  ["orders", 0],
  ["orders-", 1],
  ["sh", 2],
] as const)("%s is found", ([given, at]) => {
  expect(findDatabase(all, given)).toMatchObject({ at });
});

test("several, none, and no name at all", () => {
  expect(() => findDatabase(all, "ord")).toThrow(expect.objectContaining({ code: "invalid", hint: "give more of the name: orders, orders-old" }));
  expect(() => findDatabase(all, "x")).toThrow(expect.objectContaining({ code: "not_found" }));
  expect(() => findDatabase(all, "")).toThrow(expect.objectContaining({ code: "not_found" }));
  const many = Array.from({ length: 12 }, (_, n) => ({ name: `db-${n}` }));
  expect(() => findDatabase(many, "db")).toThrow(expect.objectContaining({ hint: expect.stringMatching(/, and 2 more$/) }));
});
