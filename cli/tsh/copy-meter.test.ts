import { expect, test } from "vitest";
import { meterLine } from "./copy-meter.ts";

const facts = { name: "build.tar", files: 1, total: 1_000_000, done: 450_000, rate: 50_100_000, seconds: 3, columns: 80 };

test.for<readonly [more: Partial<typeof facts>, expected: string]>([
  [{}, "build.tar                                 45%  450 kB  50.1 MB/s  00:00 left"],
  [{ done: 1_000_000 }, "build.tar                                 100%  1.0 MB  50.1 MB/s  00:03"],
  [{ files: 12 }, "build.tar                                 12 files  450 kB  50.1 MB/s  00:03"],
  [{ rate: 0, done: 0 }, "build.tar                                 0%  0 B  0 B/s  00:03"],
  [{ total: 0, done: 0, seconds: 7325 }, "build.tar                                 100%  0 B  50.1 MB/s  2:02:05"],
  [{ name: "x".repeat(100), columns: 60 }, `…${"x".repeat(22)}  45%  450 kB  50.1 MB/s  00:00 left`],
])("the line of %j", ([more, expected]) => {
  expect(meterLine({ ...facts, ...more })).toBe(expected);
});
