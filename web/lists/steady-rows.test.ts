import { expect, test } from "vitest";
import { steadyRows } from "./steady-rows.ts";

const row = (key: string, state = "old") => ({ key, state });

test("rows stay in their places and change there; those that left and those that came are counted", () => {
  const before = [row("a"), row("b"), row("c")];
  const { nowOf, gone, fresh } = steadyRows(before, [row("new"), row("c", "other"), row("a"), row("newer")], ({ key }) => key);
  expect(before.map(nowOf)).toEqual([row("a"), row("b"), row("c", "other")]);
  expect([gone, fresh]).toEqual([1, 2]);
});
