import type { UpgradeWindow } from "../versions/upgrade-schedule.ts";
import { type Maintenance, weekdayNumber } from "./maintenance.ts";
import type { UpgradePlan } from "./upgrade-plan.ts";
import { type Freeze, freezeAt } from "./upgrade-rollout.ts";

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

/** Number of windows that people are shown. */
const windowsShown = 7;

export interface ShownWindowsFacts {
  /** The maintenance window that runs or comes next after a moment, ms. */
  readonly window: (after: number) => { readonly start: number; readonly stop: number } | undefined;
  readonly freezes: readonly Freeze[];
  readonly now: number;
}

/** The next windows as people are shown them; one that begins in a freeze names the reason why nothing happens in it. Pure. */
export function shownWindows({ window, freezes, now }: ShownWindowsFacts): NonNullable<UpgradePlan["windows"]> {
  const windows: NonNullable<UpgradePlan["windows"]> = [];
  let found = window(now);
  while (found !== undefined && windows.length < windowsShown) {
    const { start, stop } = found;
    const freeze = freezeAt(freezes, Math.max(start, now));
    windows.push({
      start: new Date(start).toISOString(),
      stop: new Date(stop).toISOString(),
      ...(freeze !== undefined && { frozen: freeze.reason ?? "frozen" }),
    });
    found = window(stop);
  }
  return windows;
}

/** The window of a configuration that runs or comes next after a moment, ms. Pure. */
export function windowAfter(config: Maintenance, after: number): { readonly start: number; readonly stop: number } | undefined {
  const [first] = nextWindows(config, new Date(after));
  return first === undefined ? undefined : { start: first.start * 1000, stop: first.stop * 1000 };
}
