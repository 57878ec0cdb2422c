import type { AgentBefore } from "../state/parse-state.ts";

/**
 * The service `platform` under systemd. Without systemd (/run/systemd/system) it is neither active nor enabled and is never changed.
 * `reload` and `restart` throw UpgradeError `restart_needed`, `facts` `internal` when systemd does not answer; `watch` throws only for the signal. Implementation: service/open-agent-service.ts.
 */
export interface AgentService {
  facts(): Promise<AgentFacts>;
  /** `systemctl reload`: returns when systemd has accepted it; `watch` reports its outcome. */
  reload(): Promise<void>;
  /** `systemctl restart`: cuts sessions; only for a roll-back that a reload cannot achieve. */
  restart(): Promise<void>;
  /** Waits for the result: a crash within 10 s, a missing tunnel after 60 s. A healthy process must stay so for 10 s. */
  watch(options: WatchOptions): Promise<WatchResult>;
}

/** Current state of the agent. */
export interface AgentFacts {
  /** systemd counts it as running: active, reloading, or between two starts of a process that fails. */
  readonly active: boolean;
  /** systemd has given up on it (unit state `failed`), unlike one that was stopped. */
  readonly failed?: boolean;
  /** No process runs, and the last one ended with an error that another configuration may mend. */
  readonly refusesConfiguration?: boolean;
  readonly enabled: boolean;
  readonly mainPid?: number;
  /** From the status socket of `mainPid`; omitted if it does not answer. */
  readonly version?: string;
  /** It serves everything; of an agent: its tunnel is up. Omitted if it does not answer. */
  readonly ready?: boolean;
  readonly hostId?: string;
  /** Path of its configuration file; omitted by an earlier version. */
  readonly config?: string;
  /** User streams in all processes. */
  readonly sessions: number;
  /** Earlier processes that still carry sessions. */
  readonly draining: number;
}

export interface WatchOptions {
  /** Version that the answering process must have. */
  readonly version: string;
  /** Whether it was ready before the change: then it must be ready again. */
  readonly wasReady: boolean;
  readonly signal: AbortSignal;
}

/**
 * Faults of an unhealthy agent:
 * - `process`: it exited, keeps failing, stays silent; or it answers and is not ready although it is control itself (services auth or proxy);
 * - `refused`: the previous process kept running (`reload.state=failed`) and serves on;
 * - `tunnel`: it runs and answers with the right version, and is not ready.
 * The caller must find out whether the network caused the last two.
 */
export type Fault = "process" | "refused" | "tunnel";
export type WatchResult = { readonly healthy: true } | Unhealthy;

export interface Unhealthy {
  readonly healthy: false;
  readonly why: string;
  readonly fault: Fault;
  /** Of `process` and `refused`: the new process ended with an error that another configuration may mend. */
  readonly refusesConfiguration: boolean;
}

/**
 * Verdict on a new version from its watched agent. `keep`: it is not worse than before. `wait`: the network is down, which proves nothing
 * about a version. `bad`: the version is at fault. A process that dies is at fault on any network: where the agent's host serves the
 * endpoint too, its own death would seem like a network failure.
 */
export function judge(result: WatchResult, before: AgentBefore, networkUp: boolean): "keep" | "wait" | "bad" {
  if (result.healthy || before === "stopped" || before === "silent") return "keep";
  switch (result.fault) {
    case "process":
      return "bad";
    case "refused":
      return networkUp ? "bad" : "wait";
    case "tunnel":
      if (before !== "ready") return "keep";
      return networkUp ? "bad" : "wait";
  }
}

/** State of the agent before an upgrade. */
export function agentBefore(agent: Pick<AgentFacts, "active" | "version" | "ready">): AgentBefore {
  if (!agent.active) return "stopped";
  if (agent.version === undefined) return "silent";
  return agent.ready === true ? "ready" : "answering";
}
