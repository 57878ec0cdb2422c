import { expect, test } from "vitest";
import { steadyRows } from "./steady-rows.ts";

const row = (key: string, state = "old") => ({ key, state });

test("rows stay in their places and change there; those that left are named, those that came are counted", () => {
  const { rows, gone, fresh } = steadyRows([row("a"), row("b"), row("c")], [row("new"), row("c", "other"), row("a")], ({ key }) => key);
  expect(rows).toEqual([row("a"), row("b"), row("c", "other")]);
  expect([[...gone], fresh]).toEqual([["b"], 1]);
});
