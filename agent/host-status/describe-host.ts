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
  /** Omitted when it has left none; `unknown` if it cannot be read. */
  readonly state?: UpdaterState | "unknown" | undefined;
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
  const { found, schedule, externalVersion } = facts;
  const { upgrader } = found;
  const state = facts.state === "unknown" ? undefined : facts.state;
  const sessions = Math.min(facts.sessions, 1_000_000);
  if (upgrader === "none") return { upgrader, sessions };
  const seen = upgrader === "kube" ? controllerObstacle(facts) : obstacle({ ...facts, state });
  return {
    upgrader,
    sessions,
    ...(upgrader === "kube" && externalVersion !== undefined && { upgrader_version: externalVersion }),
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

/** The controller writes its result at least once in half an hour. */
const controllerSilentMs = 2 * 3_600_000;

/** Why the controller's own report does not count. */
function controllerObstacle({ state, now }: HostFacts): Pick<HostStatus, "reason" | "detail"> {
  if (state === "unknown") return {};
  if (state?.at !== undefined && now - Date.parse(state.at) > controllerSilentMs) {
    return { reason: "updater_silent", detail: `the updater of this release last ran at ${state.at}: see the log of its Deployment` };
  }
  return state?.reason === undefined ? { reason: "never_ran", detail: "the updater of this release has not run yet" } : {};
}

/** Why the updater does not run, or has not yet; undefined when its own report counts. */
function obstacle({ found, state, timer, now }: HostFacts & { readonly state?: UpdaterState | undefined }): Pick<HostStatus, "reason" | "detail"> {
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
