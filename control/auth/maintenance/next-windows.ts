import { type Maintenance, weekdayNumber } from "../../../core/resources/maintenance.ts";
import type { UpgradeWindow } from "../../../core/versions/upgrade-schedule.ts";

const hour = 3_600;
const day = 24 * hour;
/** Maximum distance from the start of the first window to the start of the last one, s: a fortnight, so that one day a week gives three windows. */
const reach = 14 * day;

/**
 * The current or next maintenance window and all that start within two weeks of it. An hour each, in order.
 * The result changes only when the first window has ended. Pure; UTC has no daylight saving.
 */
export function nextWindows(config: Maintenance, now: Date): readonly UpgradeWindow[] {
  const { utc_start_hour: startHour, weekdays } = config.spec.agent_upgrades;
  const allowed = weekdays === undefined ? undefined : new Set(weekdays.map(weekdayNumber));
  const seconds = now.getTime() / 1000;
  const midnight = Math.floor(seconds / day) * day;
  const windows: UpgradeWindow[] = [];
  for (let start = midnight + startHour * hour; windows[0] === undefined || start <= windows[0].start + reach; start += day) {
    const fits = allowed === undefined || allowed.has(new Date(start * 1000).getUTCDay());
    if (fits && start + hour > seconds) windows.push({ start, stop: start + hour });
  }
  return windows;
}
