import { expect, test } from "vitest";
import { RecentViews } from "./recent-views.ts";

const at = (seconds: number): Date => new Date(Date.UTC(2026, 0, 1) + seconds * 1000);

test("a view lasts an hour after its last beginning", () => {
  const views = new RecentViews();
  expect(views.has("eve 10.0.0.1 s", at(0))).toBe(false);
  views.add("eve 10.0.0.1 s", at(0));
  expect([views.has("eve 10.0.0.1 s", at(3_599)), views.has("eve 10.0.0.1 s", at(3_600)), views.has("bob 10.0.0.1 s", at(1))]).toEqual([
    true,
    false,
    false,
  ]);
  views.add("eve 10.0.0.1 s", at(3_000));
  expect(views.has("eve 10.0.0.1 s", at(6_000))).toBe(true);
});

test("the oldest of too many views is forgotten", () => {
  const views = new RecentViews();
  for (let number = 0; number <= 10_000; number += 1) views.add(String(number), at(0));
  expect([views.has("0", at(1)), views.has("1", at(1)), views.has("10000", at(1))]).toEqual([false, true, true]);
});
