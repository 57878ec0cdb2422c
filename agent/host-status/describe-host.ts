import type { HostStatus } from "../../core/resources/host-status.ts";
import type { FoundUpgrader, TimerState, UpdaterState } from "./read-updater.ts";

/** State of the maintenance windows on this host. */
export interface ScheduleStatus {
  /** When the last window ends, RFC 3339. */
  readonly until?: string | undefined;
  readonly error?: string | undefined;
}

export interface HostFacts {
  readonly found: FoundUpgrader;
  /** Omitted when it has left none. */
  readonly state?: UpdaterState | undefined;
  readonly timer: TimerState;
  readonly schedule: ScheduleStatus;
  /** By this host's clock, ms since 1970. */
  readonly now: number;
  /** Open user streams on this host. */
  readonly sessions: number;
  /** Version of an updater that leaves no state file (Kubernetes). */
  readonly externalVersion?: string | undefined;
}

/** The timer's own pause is ten minutes, an admin's may be a day. */
const silentMs = 48 * 3_600_000;

/** The agent's report about its updater: an updater that cannot run takes precedence over the report of its last run. Pure. */
export function describeHost(facts: HostFacts): HostStatus {
  const { found, state, schedule, externalVersion } = facts;
  const { upgrader } = found;
  const sessions = Math.min(facts.sessions, 1_000_000);
  if (upgrader === "none") return { upgrader, sessions };
  if (upgrader === "kube") return { upgrader, sessions, ...(externalVersion !== undefined && { upgrader_version: externalVersion }) };
  const seen = obstacle(facts);
  return {
    upgrader,
    sessions,
    ...state,
    ...seen,
    ...(seen.reason !== undefined && outcomeOf(state)),
    ...(schedule.until !== undefined && { schedule_until: schedule.until }),
    ...(schedule.error !== undefined && { schedule_error: schedule.error.slice(0, 500) }),
  };
}

/** The updater's report of its last run. */
function outcomeOf(state: UpdaterState | undefined): Pick<HostStatus, "outcome"> {
  if (state?.reason === undefined) return {};
  return { outcome: { reason: state.reason, ...(state.detail !== undefined && { detail: state.detail }) } };
}

/** Why the updater does not run, or has not yet; undefined when its own report counts. */
function obstacle({ found, state, timer, now }: HostFacts): Pick<HostStatus, "reason" | "detail"> {
  if (!found.installed || timer === "not_installed") {
    return { reason: "updater_missing", detail: "PLATFORM_EXT_UPGRADER is set, but platform-upgrade is not installed on this host" };
  }
  if (timer === "disabled")
    return { reason: "timer_off", detail: "platform-upgrade.timer is disabled: systemctl enable --now platform-upgrade.timer" };
  if (timer === "stopped") return { reason: "timer_off", detail: "platform-upgrade.timer is stopped: systemctl enable --now platform-upgrade.timer" };
  if (timer === "on" && state?.at !== undefined && now - Date.parse(state.at) > silentMs) {
    return { reason: "updater_silent", detail: `platform-upgrade last ran at ${state.at}, although its timer is on` };
  }
  if (state?.reason !== undefined) return {};
  const nobody = timer === "no_systemd" ? "; there is no systemd on this host: something else has to run it" : "";
  return { reason: "never_ran", detail: `platform-upgrade is installed but has not run yet${nobody}` };
}
