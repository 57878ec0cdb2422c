import fc from "fast-check";
import { expect, test } from "vitest";
import { ThreadNumbers } from "./thread-numbers.ts";

test("a client that a proxy has greeted keeps its number, unless another one has it", () => {
  const threads = new ThreadNumbers();
  expect(threads.take(3_000_000_000)).toBe(3_000_000_000);
  const other = threads.take(3_000_000_000);
  expect(other).not.toBe(3_000_000_000);
  expect(other).toBeGreaterThanOrEqual(2 ** 31);
  threads.bind(3_000_000_000, "shop", 42);
  expect([threads.threadOf(3_000_000_000, "shop"), threads.threadOf(3_000_000_000, "hr")]).toEqual([42, undefined]);
  threads.release(3_000_000_000);
  expect(threads.take(3_000_000_000)).toBe(3_000_000_000);
});

test("only numbers that no server has are taken from a proxy", () => {
  for (const text of [undefined, "", "42", "2147483647", "4294967296", "127.0.0.1:3306", "3000000000 ", "-300000000"]) {
    expect(ThreadNumbers.stated(text)).toBeUndefined();
  }
  fc.assert(
    fc.property(fc.integer({ min: 2 ** 31, max: 2 ** 32 - 1 }), (number) => {
      expect(ThreadNumbers.stated(String(number))).toBe(number);
    }),
  );
});
