import { expect, test } from "vitest";
import { NewestFew } from "./newest-few.ts";

test("a further one ends the oldest of its holder, and of no other", () => {
  const few = new NewestFew(2);
  const other = few.enter("b");
  const places = [few.enter("a"), few.enter("a"), few.enter("a")];
  expect(places.map(({ signal }) => signal.aborted)).toEqual([true, false, false]);
  expect(other.signal.aborted).toBe(false);
});

test("one that has ended makes room, also after it was ended for others", () => {
  const few = new NewestFew(1);
  const first = few.enter("a");
  const second = few.enter("a");
  first[Symbol.dispose]();
  second[Symbol.dispose]();
  const third = few.enter("a");
  expect([second, third].map(({ signal }) => signal.aborted)).toEqual([false, false]);
});
