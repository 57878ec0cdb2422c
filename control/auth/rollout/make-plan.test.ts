import { expect, test } from "vitest";
import { upgradeRolloutSchema } from "../../../core/resources/upgrade-rollout.ts";
import { makePlan } from "./make-plan.ts";

const hour = 3_600_000;
const day = 24 * hour;
const now = Date.parse("2026-11-20T02:30:00Z");
const group = { name: "all", labels: { "*": "*" } };

/** One hour from 02:00 UTC on, every day. */
function window(after: number) {
  const midnight = Math.floor(after / day) * day;
  const start = after < midnight + 3 * hour ? midnight + 2 * hour : midnight + day + 2 * hour;
  return { start, stop: start + hour };
}

const specOf = (freezes: object[]) =>
  upgradeRolloutSchema.parse({ kind: "upgrade_rollout", version: "v1", metadata: { name: "default" }, spec: { groups: [group], freezes } }).spec;
const facts = { channels: [], spec: specOf([]), window, now, brief: false, warnings: [] };

test("a plan names the next windows, the open one first", () => {
  const { windows = [] } = makePlan(facts);
  expect(windows.map(({ start }) => start)).toEqual([20, 21, 22, 23, 24, 25, 26].map((date) => `2026-11-${date}T02:00:00.000Z`));
  expect(windows.every(({ frozen }) => frozen === undefined)).toBe(true);
});

test("a window in a freeze has its reason, and freezes that are over are left out", () => {
  const spec = specOf([
    { from: "2026-11-22T02:30:00Z", to: "2026-11-23", reason: "sale" },
    { from: "2026-11-20", to: "2026-11-20T02:45:00Z" },
    { from: "2026-11-01", to: "2026-11-02", reason: "past" },
  ]);
  const { windows = [], freezes } = makePlan({ ...facts, spec });
  expect(windows.map(({ frozen }) => frozen)).toEqual(["frozen", undefined, undefined, "sale", undefined, undefined, undefined]);
  expect(freezes).toEqual([
    { from: "2026-11-20T00:00:00.000Z", until: "2026-11-20T02:45:00.000Z" },
    { from: "2026-11-22T02:30:00.000Z", until: "2026-11-24T00:00:00.000Z", reason: "sale" },
  ]);
});

test("without a window, and in a brief plan, there are not any", () => {
  expect(makePlan({ ...facts, window: () => undefined })).not.toHaveProperty("windows");
  expect(makePlan({ ...facts, brief: true })).not.toHaveProperty("windows");
});
