import { existsSync } from "node:fs";
import { readlink } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../../core/log/log.ts";
import { unixGet } from "../../core/transport/dial/get-over.ts";
import { configurationStatuses } from "../configuration-errors.ts";
import { type CommandResult, runCommand, standardPath } from "../run-command.ts";
import { UpgradeError } from "../tick/upgrade-error.ts";
import { type AgentStatus, isActive, parseAgentStatus, parseUnitState, shownProperties, type UnitState } from "./agent-status.ts";
import type { AgentFacts, AgentService, WatchOptions, WatchResult } from "./service.ts";
import { type Look, type Watch, watchAgent } from "./watch-agent.ts";

export interface AgentServiceDeps {
  readonly log: Log;
  readonly signal: AbortSignal;
}

const unit = "platform.service";
const pauseMs = 500;
const showMs = 20_000;
/** Longer than any systemctl call that systemd answers. */
const watchMs = 120_000;
/** systemd itself stops waiting for our job sooner. */
const jobMs = 150_000;

/** The service of this host. */
export function openAgentService({ log, signal }: AgentServiceDeps): AgentService {
  let reloadedAt: number | undefined;
  const job = async (verb: "reload" | "restart"): Promise<void> => {
    if (!hasSystemd()) throw new UpgradeError("restart_needed", "systemd does not run on this host");
    reloadedAt = Date.now();
    const done = await systemctl([verb, "--no-ask-password", unit], jobMs);
    if (done.ended === "exit" && done.status === 0) return;
    const said = done.tail.trim().split("\n").slice(-2).join("; ").slice(-300);
    throw new UpgradeError("restart_needed", `systemctl ${verb} ${unit} failed: ${said || done.ended}`);
  };
  return {
    facts: async () => {
      signal.throwIfAborted();
      return factsOf(await look());
    },
    reload: () => job("reload"),
    restart: () => job("restart"),
    watch: (options) => watch(look, { ...options, reloadedAt, log }),
  };
}

const environment = { PATH: standardPath, LC_ALL: "C.UTF-8", SYSTEMD_PAGER: "", SYSTEMD_COLORS: "0" };

async function systemctl(args: readonly string[], limitMs: number): Promise<CommandResult> {
  return await runCommand({ file: "systemctl", args, env: environment, limitMs });
}

function hasSystemd(): boolean {
  return existsSync("/run/systemd/system");
}

const stopped: UnitState = { activeState: "inactive", subState: "dead", unitFileState: "", mainPid: 0, restarts: 0 };

/** Undefined if systemd does not answer: the state counts as unchanged. */
async function look(): Promise<Look | undefined> {
  if (!hasSystemd()) return { at: performance.now(), unit: stopped };
  const shown = await systemctl(["show", unit, `--property=${shownProperties}`, "--no-pager"], showMs);
  if (shown.ended !== "exit" || shown.status !== 0) return undefined;
  const state = parseUnitState(shown.stdout);
  const at = performance.now();
  if (state.mainPid === 0) return { at, unit: state };
  const status = await statusOf(state.mainPid);
  const current = await runsCurrent(state.mainPid);
  return { at, unit: state, ...(status !== undefined && { status }), ...(current !== undefined && { current }) };
}

async function statusOf(pid: number): Promise<AgentStatus | undefined> {
  const status = await askStatus(`/run/platform/status-${pid}.sock`);
  return status?.pid === pid ? status : undefined;
}

/** The kernel marks an executable that was replaced. */
async function runsCurrent(pid: number): Promise<boolean | undefined> {
  try {
    return !(await readlink(`/proc/${pid}/exe`)).endsWith(" (deleted)");
  } catch {
    return undefined;
  }
}

/** Without them nothing may be installed: the agent would seem stopped, and not be watched. */
function factsOf(seen: Look | undefined): AgentFacts {
  if (seen === undefined) throw new UpgradeError("internal", `systemd did not report the state of ${unit}; the next run asks again`);
  const { unit: state, status } = seen;
  return {
    active: isActive(state),
    ...(state.activeState === "failed" && { failed: true }),
    ...(state.mainPid === 0 && configurationStatuses.has(state.exitStatus) && { refusesConfiguration: true }),
    enabled: state.unitFileState.startsWith("enabled"),
    ...(state.mainPid !== 0 && { mainPid: state.mainPid }),
    ...(status !== undefined && { version: status.version, ready: status.ready }),
    ...(status?.hostId !== undefined && { hostId: status.hostId }),
    ...(status?.config !== undefined && { config: status.config }),
    sessions: status === undefined ? 0 : status.draining.reduce((sum, one) => sum + one.sessions, status.sessions),
    draining: status?.draining.length ?? 0,
  };
}

type Watching = WatchOptions & { readonly reloadedAt: number | undefined; readonly log: Log };

async function watch(see: () => Promise<Look | undefined>, options: Watching): Promise<WatchResult> {
  const { signal, log } = options;
  let state: Watch | undefined;
  const end = performance.now() + watchMs;
  while (performance.now() < end) {
    signal.throwIfAborted();
    const seen = await see();
    if (seen !== undefined) {
      const { watch: after, result } = watchAgent(state, seen, options);
      state = after;
      if (result !== undefined) {
        log.debug("watched the agent", { healthy: result.healthy, ...(!result.healthy && { why: result.why, fault: result.fault }) });
        return result;
      }
    }
    await sleep(pauseMs, undefined, { signal });
  }
  return { healthy: false, fault: "process", why: "systemd did not report the state of the service", refusesConfiguration: false };
}

const limits = { timeoutMs: 2000, maxBytes: 65_536 };

/** GET /status over a unix socket; undefined without a valid answer within 2 s. Never throws. */
export async function askStatus(socketPath: string): Promise<AgentStatus | undefined> {
  try {
    const { status, body } = await unixGet(socketPath, "/status", limits);
    return status === 200 ? parseAgentStatus(body.toString()) : undefined;
  } catch {
    return undefined;
  }
}
