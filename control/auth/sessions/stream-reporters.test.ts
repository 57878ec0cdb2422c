import { expect, test } from "vitest";
import { StreamReporters } from "./stream-reporters.ts";

test("hosts are believed unless every connected proxy reports", () => {
  let time = 0;
  const reporters = new StreamReporters(() => new Date(time));
  expect(reporters.include([])).toBe(false);
  reporters.reported("a");
  expect([reporters.include(["a"]), reporters.include(["a", "b"]), reporters.include([])]).toEqual([true, false, false]);
  time = 60_000;
  reporters.reported("b");
  expect(reporters.include(["a", "b"])).toBe(true);
  time += 1;
  expect([reporters.include(["a", "b"]), reporters.include(["b"])]).toEqual([false, true]);
});
