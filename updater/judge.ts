import type { AgentBefore } from "./parse-state.ts";
import type { WatchResult } from "./service.ts";

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
