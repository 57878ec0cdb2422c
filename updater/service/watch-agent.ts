import { configurationErrors, configurationStatuses } from "../configuration-errors.ts";
import { type AgentStatus, isActive, type UnitState } from "./agent-status.ts";
import type { Fault, Unhealthy, WatchResult } from "./service.ts";

/** One check of the agent. */
export interface Look {
  /** Monotonic clock, ms. */
  readonly at: number;
  readonly unit: UnitState;
  /** Status of the main process; omitted without an answer. */
  readonly status?: AgentStatus;
  /** Whether the main process runs the executable on disk; omitted if unknown. */
  readonly current?: boolean;
}

export interface Expected {
  readonly version: string;
  readonly wasReady: boolean;
  /** When the last reload was requested, in milliseconds since 1970; omitted if by an earlier run. */
  readonly reloadedAt?: number | undefined;
}

/** Result of the checks so far. */
export interface Watch {
  readonly startedAt: number;
  /** Restarts before the first check. */
  readonly restarts: number;
  /** Since when the same process has been healthy. */
  readonly well?: { readonly pid: number; readonly since: number };
  /** The last end of a process after which systemd waits to start the next one, and the restarts before it. */
  readonly exit?: { readonly pid: number | undefined; readonly restarts: number };
  /** Since when nothing runs. */
  readonly downSince?: number;
  /** Since when systemd does not even wait for the next start. */
  readonly inactiveSince?: number;
  /** Since when the main process has not answered. */
  readonly silentSince?: number;
  /** The process that ended last did so with an error that another configuration may mend. */
  readonly refusesConfiguration: boolean;
}

const second = 1000;
/** Time for which a process must be healthy. */
const stableMs = 10 * second;
/** Limit for a service that is neither up nor waits for its next start: systemd passes through that state when it starts it again. */
const inactiveMs = 2 * second;
/** Limit for a process that has exited: systemd starts it again after 5 s. */
const downMs = 8 * second;
/** Limit for silence: an agent that had a status socket and no longer answers hangs. */
const silentMs = 30 * second;
const limitMs = 60 * second;

/** The watch after a further check, and its result when it has one. Pure. */
export function watchAgent(before: Watch | undefined, look: Look, expected: Expected): { readonly watch: Watch; readonly result?: WatchResult } {
  const watch = next(before, look, expected);
  if (watch.well !== undefined && look.at - watch.well.since >= stableMs) return { watch, result: { healthy: true } };
  const result = faultOf(watch, look, expected);
  return { watch, ...(result !== undefined && { result }) };
}

function next(before: Watch | undefined, look: Look, expected: Expected): Watch {
  const { at, unit, status } = look;
  const running = isActive(unit) && unit.mainPid !== 0;
  const well = running && isWell(look, expected);
  const samePid = before?.well?.pid === unit.mainPid;
  const exit = exitOf(before, unit);
  return {
    startedAt: before?.startedAt ?? at,
    restarts: before?.restarts ?? unit.restarts,
    ...(well && { well: { pid: unit.mainPid, since: (samePid ? before?.well?.since : undefined) ?? at } }),
    ...(exit !== undefined && { exit }),
    ...(!running && { downSince: before?.downSince ?? at }),
    ...(unit.activeState === "inactive" && { inactiveSince: before?.inactiveSince ?? at }),
    ...(running && status === undefined && { silentSince: before?.silentSince ?? at }),
    refusesConfiguration: unit.mainPid === 0 ? configurationStatuses.has(unit.exitStatus) : (before?.refusesConfiguration ?? false),
  };
}

/** systemd counts the restart before it leaves the state of waiting for it: an exit that was seen before is not another one. */
function exitOf(before: Watch | undefined, { subState, lastPid, restarts }: UnitState): Watch["exit"] {
  if (subState !== "auto-restart" || (lastPid !== undefined && before?.exit?.pid === lastPid)) return before?.exit;
  return { pid: lastPid, restarts };
}

/** A silent process may be a version without a status socket: then it must be the new executable, and stay up. */
function isWell({ unit, status, current }: Look, { version, wasReady }: Expected): boolean {
  if (status === undefined) return !wasReady && current === true && unit.subState === "running";
  return status.version === version && (status.ready || !wasReady);
}

function faultOf(watch: Watch, look: Look, expected: Expected): WatchResult | undefined {
  const { at, unit, status } = look;
  const waits = unit.subState === "auto-restart";
  const crashes = (waits ? (watch.exit?.restarts ?? unit.restarts) + 1 : unit.restarts) - watch.restarts;
  // One exit is how an agent that cannot reload comes back.
  if (crashes >= 2) return ended(watch, "the process exits soon after its start");
  const isInactive = watch.inactiveSince !== undefined && at - watch.inactiveSince >= inactiveMs;
  if (unit.activeState === "failed" || isInactive) return ended(watch, `the service is ${unit.activeState}`);
  if (watch.downSince !== undefined && at - watch.downSince >= downMs) return ended(watch, "the process exited and was not restarted");
  if (status !== undefined && hasRefused(status, expected)) {
    const { error, code, disconnected } = status.reload;
    // The one before is connected with the configuration as it read it: a wrong address in the new one may be all that is the matter.
    const refusesConfiguration = disconnected === true || (code !== undefined && configurationErrors.has(code));
    return { ...unhealthy("refused", `the new process did not take over${error === undefined ? "" : `: ${error}`}`), refusesConfiguration };
  }
  if (expected.wasReady && watch.silentSince !== undefined && at - watch.silentSince >= silentMs) {
    return unhealthy("process", `the process has not answered on its status socket for ${(at - watch.silentSince) / second} s`);
  }
  return at - watch.startedAt >= limitMs ? overdue(watch, look, expected) : undefined;
}

function hasRefused({ version: answering, reload }: AgentStatus, { version, reloadedAt }: Expected): boolean {
  // After a roll-back the process that kept running is the wanted one: it refused the bad version.
  if (answering === version || reload.state !== "failed") return false;
  // The reload requested here, whatever name the new process has.
  if (reloadedAt !== undefined && reload.at !== undefined) return reload.at >= reloadedAt - second;
  return reload.version === undefined || reload.version === version;
}

function overdue(watch: Watch, { at, status, current }: Look, { version }: Expected): WatchResult | undefined {
  if (watch.well !== undefined)
    return at - watch.startedAt >= limitMs + stableMs ? unhealthy("process", "the process does not stay up for 10 s") : undefined;
  if (status === undefined) {
    if (current === false) return unhealthy("refused", "the previous process kept running");
    return unhealthy("process", "the process does not answer on its status socket");
  }
  if (status.version !== version) return unhealthy("refused", `the answering process has version ${status.version}`);
  const control = status.services.some((service) => service === "auth" || service === "proxy");
  if (control) return unhealthy("process", "the process runs, but does not serve all its configured services");
  const { problem } = status;
  return unhealthy("tunnel", `the process runs, but has no tunnel to the cluster${problem === undefined ? "" : `: ${problem}`}`);
}

/** No process stays: systemd started it, so its exit status alone tells a configuration that it refuses from a version that does not run. */
function ended({ refusesConfiguration }: Watch, why: string): Unhealthy {
  return { ...unhealthy("process", refusesConfiguration ? `${why}: it refuses its configuration` : why), refusesConfiguration };
}

function unhealthy(fault: Fault, why: string): Unhealthy {
  return { healthy: false, fault, why, refusesConfiguration: false };
}
