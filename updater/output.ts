import { type UpgradeReason, upgradeReasons } from "../core/versions/upgrade-reason.ts";
import { type UpdaterState, untilChanged } from "./state/parse-state.ts";

/*
 * Output of the updater. Results go to standard output, warnings and progress to standard error; both are for
 * journald, so no line carries a time, a colour or a control character. Every run ends with one line `reason=<code> …`.
 */

/** Results that need no admin: all is well, or the upgrade waits for an event that comes by itself or for an admin's setting. */
const calm: ReadonlySet<UpgradeReason> = new Set([
  "up_to_date",
  "upgraded",
  "healed",
  "outside_window",
  "no_schedule",
  "stale_schedule",
  "held_by_admin",
  "held_by_rollout",
  "waiting_for_sessions",
  "known_bad",
  "major_mismatch",
  "not_wanted",
  "already_running",
  "rolling_out",
  "suggested",
]);
/** Results in which an admin's `force` succeeded. */
const achieved: ReadonlySet<UpgradeReason> = new Set(["up_to_date", "upgraded", "healed"]);

/** 0, or 1 for a result that needs an admin. */
export function exitStatus(reason: UpgradeReason, forced: boolean): 0 | 1 {
  return (forced ? achieved : calm).has(reason) ? 0 : 1;
}

/** The specification's two outcomes of a check of the endpoint; undefined if a version is unknown. */
export function availability(current: string | undefined, target: string | undefined): string | undefined {
  if (current === undefined || target === undefined) return undefined;
  return current === target ? `no upgrades available (${current} == ${target})` : `an upgrade is available (${current} -> ${target})`;
}

/** `name=value` with quotes where needed; undefined values are left out. */
export function fieldsLine(fields: Readonly<Record<string, string | undefined>>): string {
  return Object.entries(fields)
    .flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}=${/^[\x21-\x7e]+$/.test(value) && !value.includes('"') ? value : quoted(value)}`],
    )
    .join(" ");
}

/** A line from any source, made safe for a terminal. */
export function printable(line: string): string {
  return line.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, "?");
}

function quoted(value: string): string {
  return printable(JSON.stringify(value));
}

interface StatusFacts {
  /** Version of this updater. */
  readonly updater: string;
  /** Whether a run is under way. */
  readonly running: boolean;
}

/** `platform-upgrade status` as text. */
export function statusText(state: UpdaterState, { updater, running }: StatusFacts): string {
  const { upgrade, reason, skip, skip_updater = [], updater_version: ran } = state;
  const change = upgrade === undefined ? "" : `${upgrade.phase}: ${upgrade.from} -> ${upgrade.to}, since ${upgrade.started}`;
  const rows: [string, string | undefined][] = [
    ["Reason", reason === undefined ? undefined : `${reason} (${upgradeReasons[reason]})`],
    ["Detail", state.detail],
    ["Current", state.current],
    ["Target", state.target],
    ["Channel", state.channel],
    ["Last run", state.at],
    ["Updater", ran === undefined || ran === updater ? updater : `${updater} (the last run was version ${ran})`],
    ["Host", state.host_id],
    ["In progress", running ? change || "a run" : undefined],
    ["Unfinished", running || upgrade === undefined ? undefined : `${change}; no run is under way: the next one continues it`],
    ...skip.map(({ version, since, why, config }): [string, string] => [
      "Skipped",
      `${version}, rolled back on ${since}: ${why}${untilChanged(config)}`,
    ]),
    ...skip_updater.map(({ version, since, why }): [string, string] => ["Skipped", `updater ${version}, rolled back on ${since}: ${why}`]),
  ];
  return rows.flatMap(([name, value]) => (value === undefined ? [] : [printable(`${`${name}:`.padEnd(13)}${value}`)])).join("\n");
}
