import { expect, test } from "vitest";
import { FailedArrivals } from "./failed-arrivals.ts";

test("the first failure is logged at once, the rest by one line a minute with their count and the last one", () => {
  const lines: unknown[] = [];
  let now = 0;
  const failed = new FailedArrivals({ log: { info: (_text, fields) => void lines.push(fields) }, clock: () => now });
  failed.add("192.0.2.1:1", "timeout");
  for (let count = 2; count <= 10_000; count += 1) failed.add(`192.0.2.1:${count}`, "closed");
  expect(lines).toEqual([{ count: 1, peer: "192.0.2.1:1", error: "timeout" }]);
  now = 60_000;
  failed.tell();
  failed.tell();
  expect(lines.slice(1)).toEqual([{ count: 9999, peer: "192.0.2.1:10000", error: "closed" }]);
});
