import { expect, test } from "vitest";
import { RefusalLimit } from "./refusal-limit.ts";

const start = Date.parse("2026-01-01T00:00:00Z");
const at = (seconds: number) => new Date(start + seconds * 1000);

test("ten of a client's refusals in a minute are recorded, the others are counted; each client by itself", () => {
  const limit = new RefusalLimit();
  const taken = Array.from({ length: 25 }, (_one, index) => limit.take(`203.0.113.7:${1024 + index}`, at(index)));
  expect(taken.filter(Boolean)).toHaveLength(10);
  expect(limit.take("203.0.113.8:1024", at(30))).toBe(true);
  expect(limit.ended(at(59))).toEqual([]);
  expect(limit.ended(at(60))).toEqual([{ client: "203.0.113.7", count: 15, kind: undefined }]);
  expect(limit.take("203.0.113.7:1", at(61))).toBe(true);
  expect(limit.ended(at(200))).toEqual([]);
});

test("the end sums up what is open", () => {
  const limit = new RefusalLimit();
  for (let calls = 0; calls < 11; calls += 1) limit.take("::1", at(0));
  expect(limit.ended(at(1), true)).toEqual([{ client: "0:0:0:0", count: 1, kind: undefined }]);
});

test("countless clients share what is left", () => {
  const limit = new RefusalLimit();
  let recorded = 0;
  for (let client = 0; client < 20_000; client += 1) if (limit.take(`10.0.${client >> 8}.${client & 255}:1`, at(0))) recorded += 1;
  expect(recorded).toBe(10_010);
  expect(limit.ended(at(60))).toEqual([{ client: "(others)", count: 9_990, kind: undefined }]);
});

test("each kind of a client's refusals has a sum of its own, a few of them", () => {
  const limit = new RefusalLimit<string>();
  for (let calls = 0; calls < 13; calls += 1) limit.take("::1", at(0), calls % 2 === 0 ? "even" : "odd");
  expect(limit.ended(at(60))).toEqual([
    { client: "0:0:0:0", count: 2, kind: "even" },
    { client: "0:0:0:0", count: 1, kind: "odd" },
  ]);
  for (let calls = 0; calls < 1_000; calls += 1) limit.take("::1", at(61), String(calls));
  const sums = limit.ended(at(200));
  expect(sums).toHaveLength(9);
  expect(sums.at(-1)).toEqual({ client: "0:0:0:0", count: 982, kind: undefined });
});
