import type { Maintenance } from "../../core/resources/maintenance.ts";
import type { Freeze, UpgradeRollout } from "../../core/resources/upgrade-rollout.ts";

/** Short names of the weekdays as a configuration has them, from Monday on. */
export const weekdays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"] as const;
type Weekday = (typeof weekdays)[number];

/** The days of a configuration; all of them when it names none. Pure. */
export function chosenDays({ spec }: Maintenance): readonly Weekday[] {
  const named = spec.agent_upgrades.weekdays?.map((day) => day.slice(0, 3).toLowerCase());
  return weekdays.filter((day) => named === undefined || named.includes(day.toLowerCase()));
}

/** The configuration for other days; all of them are named by none. Pure. */
export function withDays(config: Maintenance, days: readonly Weekday[]): Maintenance {
  const { weekdays: _before, ...others } = config.spec.agent_upgrades;
  const named = weekdays.filter((day) => days.includes(day));
  return { ...config, spec: { agent_upgrades: { ...others, ...(named.length < weekdays.length && { weekdays: named }) } } };
}

/** The configuration with another hour. Pure. */
export function withHour(config: Maintenance, hour: number): Maintenance {
  return { ...config, spec: { agent_upgrades: { ...config.spec.agent_upgrades, utc_start_hour: hour } } };
}

/** The roll-out with other freezes; an empty reason is left out. Pure. */
export function withFreezes(rollout: UpgradeRollout, freezes: readonly Freeze[]): UpgradeRollout {
  const written = freezes.map(({ from, to, reason = "" }) => ({ from, to, ...(reason !== "" && { reason }) }));
  return { ...rollout, spec: { ...rollout.spec, freezes: written } };
}

/** Whether a moment of a freeze is a whole day, which a field for dates can show. Pure. */
export function isDay(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text);
}
