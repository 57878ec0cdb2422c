import { expect, test } from "vitest";
import { ForeignOrigins } from "./foreign-origins.ts";

const at = (seconds: number): Date => new Date(seconds * 1000);

test("one refusal a minute of each user and application becomes an event, and the next event counts the others", () => {
  const origins = new ForeignOrigins();
  expect([origins.take("ann", "wiki", at(0)), origins.take("ann", "wiki", at(1)), origins.take("ann", "wiki", at(59))]).toEqual([
    0,
    undefined,
    undefined,
  ]);
  expect([origins.take("ann", "shop", at(2)), origins.take("ben", "wiki", at(2))]).toEqual([0, 0]);
  expect([origins.take("ann", "wiki", at(60)), origins.take("ann", "wiki", at(130))]).toEqual([2, 0]);
});

test("a clock that is set back does not silence it", () => {
  const origins = new ForeignOrigins();
  expect([origins.take("ann", "wiki", at(1000)), origins.take("ann", "wiki", at(1))]).toEqual([0, 0]);
});

test("of too many users the first ones are forgotten", () => {
  const origins = new ForeignOrigins({ most: 2 });
  for (const user of ["a", "b", "c"]) origins.take(user, "wiki", at(0));
  expect(["c", "b", "a"].map((user) => origins.take(user, "wiki", at(1)))).toEqual([undefined, undefined, 0]);
});
