import { expect, test } from "vitest";
import { killTarget, maxKill } from "./kill-target.ts";

test.each([
  ["KILL QUERY 7", 7, "KILL QUERY 12"],
  ["kill 7", 7, "kill 12"],
  [" KILL HARD CONNECTION 2147483648 ; ", 2_147_483_648, " KILL HARD CONNECTION 12 ; "],
])("%s names a connection, and keeps its words for another number", (statement, own, other) => {
  const target = killTarget(Buffer.from(statement));
  expect(target?.own).toBe(own);
  expect(target?.at(12).toString()).toBe(other);
});

test.each([
  "KILL USER root",
  "KILL QUERY ID 7",
  "KILL 7, 8",
  "KILL 7; SELECT 1",
  "/* */ KILL 7",
  "SELECT 7",
  "KILL 99999999999",
  `KILL 7${" ".repeat(maxKill)}`,
])("%s is another statement", (statement) => {
  expect(killTarget(Buffer.from(statement))).toBeUndefined();
});
