import { type ErrorCode, isErrorCode } from "../../core/errors/platform-error.ts";

/** The status of an agent process from its status socket, as far as the updater needs it. */
export interface AgentStatus {
  readonly pid: number;
  readonly version: string;
  readonly hostId?: string;
  /** Path of its configuration file. */
  readonly config?: string;
  readonly ready: boolean;
  /** Why it is not connected: the last error of its connections; omitted while it is, and by an earlier version. */
  readonly problem?: string;
  readonly services: readonly string[];
  readonly sessions: number;
  readonly draining: readonly { readonly sessions: number }[];
  readonly reload: Reload;
}

export interface Reload {
  readonly state: "none" | "starting" | "failed" | "done";
  readonly version?: string;
  readonly error?: string;
  /** Code of the error that the new process itself reported; omitted by an earlier version, or if it reported none. */
  readonly code?: ErrorCode;
  /** The new process ran, and could not connect while this one was connected. */
  readonly disconnected?: boolean;
  /** Milliseconds since 1970. */
  readonly at?: number;
}

const maxList = 64;
const maxText = 300;

/** Undefined if it is not a status. Any field may come from an agent of another version, or be missing. */
export function parseAgentStatus(json: string): AgentStatus | undefined {
  const value = parseObject(json);
  if (value === undefined) return undefined;
  const pid = countOf(value.pid);
  const version = textOf(value.version);
  if (pid === undefined || version === undefined) return undefined;
  const [hostId, config] = [textOf(value.host_id), textOf(value.config)];
  const problem = isObject(value.problem) ? textOf(value.problem.error) : undefined;
  const draining = listOf(value.draining).flatMap((one) => (isObject(one) ? [{ sessions: countOf(one.sessions) ?? 0 }] : []));
  return {
    pid,
    version,
    ...(hostId !== undefined && { hostId }),
    ...(config !== undefined && { config }),
    ready: value.ready === true,
    ...(problem !== undefined && { problem }),
    services: listOf(value.services).flatMap((one) => textOf(one) ?? []),
    sessions: countOf(value.sessions) ?? 0,
    draining,
    reload: reloadOf(value.reload),
  };
}

function reloadOf(value: unknown): Reload {
  if (!isObject(value)) return { state: "none" };
  const state = reloadStates.find((one) => one === value.state) ?? "none";
  const [version, error, code, at] = [textOf(value.version), textOf(value.error), textOf(value.code), timeOf(value.at)];
  return {
    state,
    ...(version !== undefined && { version }),
    ...(error !== undefined && { error }),
    ...(code !== undefined && isErrorCode(code) && { code }),
    ...(value.disconnected === true && { disconnected: true }),
    ...(at !== undefined && { at }),
  };
}

const reloadStates = ["none", "starting", "failed", "done"] as const;

type Fields = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parseObject(json: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value.slice(0, maxList) : [];
}

/** One line. */
function textOf(value: unknown): string | undefined {
  if (typeof value !== "string" || value === "") return undefined;
  return value.slice(0, maxText).replace(/\s+/g, " ");
}

function countOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

function timeOf(value: unknown): number | undefined {
  const time = typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}

/** The unit of the agent from `systemctl show`. */
export interface UnitState {
  readonly activeState: string;
  readonly subState: string;
  readonly unitFileState: string;
  /** 0 for none. */
  readonly mainPid: number;
  /** Restarts by systemd itself since the unit was started manually. */
  readonly restarts: number;
  /** Id of the last process, also after its end; undefined if none was started. */
  readonly lastPid?: number;
  /** Exit status of the last process; undefined while one runs, and of one that a signal ended. */
  readonly exitStatus?: number;
}

export const shownProperties = "ActiveState,SubState,UnitFileState,MainPID,NRestarts,ExecMainPID,ExecMainCode,ExecMainStatus";
/** `CLD_EXITED` of waitid(2): it ended by itself. */
const exited = "1";

/** `Name=value` lines. NRestarts is missing before systemd 235. */
export function parseUnitState(text: string): UnitState {
  const found = new Map(
    text.split("\n").flatMap((line): [string, string][] => {
      const at = line.indexOf("=");
      return at < 0 ? [] : [[line.slice(0, at), line.slice(at + 1).trim()]];
    }),
  );
  return {
    activeState: found.get("ActiveState") ?? "inactive",
    subState: found.get("SubState") ?? "dead",
    unitFileState: found.get("UnitFileState") ?? "",
    mainPid: Number(found.get("MainPID")) || 0,
    restarts: Number(found.get("NRestarts")) || 0,
    ...(Number(found.get("ExecMainPID")) > 0 && { lastPid: Number(found.get("ExecMainPID")) }),
    ...(found.get("ExecMainCode") === exited && { exitStatus: Number(found.get("ExecMainStatus")) || 0 }),
  };
}

export function isActive({ activeState }: UnitState): boolean {
  return activeState === "active" || activeState === "reloading" || activeState === "activating" || activeState === "refreshing";
}
