import { type Maintenance, weekdayNumber } from "../../../core/resources/maintenance.ts";
import type { UpgradeWindow } from "../../../core/versions/upgrade-schedule.ts";

const hour = 3_600;
const day = 24 * hour;
/** How far behind the first window the last one may begin, s: a fortnight, so that one day a week gives three windows. */
const reach = 14 * day;

/**
 * The maintenance windows that run or come: the first one and all that begin within two weeks of it. An hour each, in order.
 * The result changes only when the first window has ended. Pure; UTC knows no daylight saving.
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
