import { expect, test } from "vitest";
import { memoryIo } from "../../memory-io.ts";
import { findDatabase, noteShortName } from "./find-database.ts";

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

test("a name that was cut short is noted with the one that is meant, a whole one is not", () => {
  const io = memoryIo();
  noteShortName(io, "orders", "orders");
  expect(io.err()).toBe("");
  noteShortName(io, "ord", "orders");
  expect(io.err()).toBe("ord stands for database orders, the only one that you may use with a name that begins so\n");
});
