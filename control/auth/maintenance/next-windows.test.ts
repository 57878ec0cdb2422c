import fc from "fast-check";
import { expect, test } from "vitest";
import { type Maintenance, maintenanceSchema, weekdayNumber } from "../../../core/resources/maintenance.ts";
import { nextWindows } from "./next-windows.ts";

const config = (hour: number, weekdays?: readonly string[]): Maintenance =>
  maintenanceSchema.parse({ kind: "cluster_maintenance_config", spec: { agent_upgrades: { utc_start_hour: hour, ...(weekdays && { weekdays }) } } });
const at = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, 13);

// 2026-11-20 is a Friday.
test.for<[name: string, hour: number, weekdays: string[] | undefined, now: string, first: string, count: number]>([
  ["later today", 20, undefined, "2026-11-20T10:00:00Z", "2026-11-20T20", 15],
  ["running, at its first second", 10, undefined, "2026-11-20T10:00:00Z", "2026-11-20T10", 15],
  ["running, at its last moment", 10, undefined, "2026-11-20T10:59:59.999Z", "2026-11-20T10", 15],
  ["over at this very moment", 10, undefined, "2026-11-20T11:00:00Z", "2026-11-21T10", 15],
  ["the last hour of the day", 23, undefined, "2026-11-20T23:30:00Z", "2026-11-20T23", 15],
  ["just after midnight the last hour is over", 23, undefined, "2026-11-21T00:00:00Z", "2026-11-21T23", 15],
  ["one day a week, today", 10, ["Fri"], "2026-11-20T10:30:00Z", "2026-11-20T10", 3],
  ["one day a week, just over", 10, ["friday"], "2026-11-20T11:00:00Z", "2026-11-27T10", 3],
  ["two days a week", 0, ["SUN", "Wednesday"], "2026-11-20T11:00:00Z", "2026-11-22T00", 5],
  ["over the end of a year", 5, ["Fri"], "2026-12-31T05:00:00Z", "2027-01-01T05", 3],
  ["a leap day", 5, ["Tue"], "2028-02-29T04:00:00Z", "2028-02-29T05", 3],
])("%s", ([_name, hour, weekdays, now, first, count]) => {
  const windows = nextWindows(config(hour, weekdays), new Date(now));
  expect(at(windows[0]?.start ?? 0)).toBe(first);
  expect(windows).toHaveLength(count);
});

const dayNames = ["Sun", "monday", "TUE", "Wednesday", "thu", "FRIDAY", "Sat"];
const anyConfig = fc
  .tuple(fc.integer({ min: 0, max: 23 }), fc.option(fc.subarray(dayNames, { minLength: 1 })))
  .map(([hour, weekdays]) => config(hour, weekdays ?? undefined));
const anyTime = fc.date({ min: new Date("2020-01-01"), max: new Date("2100-01-01"), noInvalidDate: true });

test("never a past window, always an hour, only on the days, in order, and never fewer than two: a week ahead at least", () => {
  fc.assert(
    fc.property(anyConfig, anyTime, (wanted, now) => {
      const { utc_start_hour, weekdays } = wanted.spec.agent_upgrades;
      const windows = nextWindows(wanted, now);
      const seconds = now.getTime() / 1000;
      expect(windows.length).toBeGreaterThanOrEqual(2);
      expect(windows.at(-1)?.stop).toBeGreaterThan(seconds + 7 * 86_400);
      let last = 0;
      for (const { start, stop } of windows) {
        expect(stop).toBeGreaterThan(seconds);
        expect(stop - start).toBe(3_600);
        expect(start).toBeGreaterThan(last);
        const begin = new Date(start * 1000);
        expect([begin.getUTCHours(), begin.getUTCMinutes(), begin.getUTCSeconds()]).toEqual([utc_start_hour, 0, 0]);
        if (weekdays !== undefined) expect(weekdays.map(weekdayNumber)).toContain(begin.getUTCDay());
        last = start;
      }
    }),
  );
});

test("no window is left out: the first is at most a week away, and a day that fits is there", () => {
  fc.assert(
    fc.property(anyConfig, anyTime, (wanted, now) => {
      const windows = nextWindows(wanted, now);
      const days = wanted.spec.agent_upgrades.weekdays?.length ?? 7;
      expect((windows[0]?.start ?? 0) * 1000 - now.getTime()).toBeLessThanOrEqual(7 * 86_400_000);
      expect(windows.filter(({ start }) => start < (windows[0]?.start ?? 0) + 7 * 86_400)).toHaveLength(days);
    }),
  );
});

test("the windows change only when the first one has ended: a schedule is not rewritten without a reason", () => {
  fc.assert(
    fc.property(anyConfig, anyTime, fc.double({ min: 0, max: 0.999, noNaN: true }), (wanted, now, part) => {
      const windows = nextWindows(wanted, now);
      const left = (windows[0]?.stop ?? 0) * 1000 - now.getTime();
      expect(nextWindows(wanted, new Date(now.getTime() + Math.floor(left * part)))).toEqual(windows);
    }),
  );
});
