import { setTimeout as sleep } from "node:timers/promises";
import { type LoadProcess, startLoadProcess } from "./load-process.ts";
import type { LoadAsk, LoadState } from "./many-agents-load.ts";

/** many-agents-load.ts in a process of its own. */
export interface AgentsLoad extends LoadProcess<LoadAsk, LoadState> {
  /** Waits until so many tunnels are up; the state since the last question. */
  allOpen(count: number): Promise<LoadState>;
}

/** For all agents to be connected, ms. */
const patienceMs = 300_000;

/** `args`: proxy, pin and token. */
export function startAgentsLoad(args: readonly [string, string, string]): AgentsLoad {
  const load = startLoadProcess<LoadAsk, LoadState>("many-agents-load.ts", args);
  const allOpen = async (count: number): Promise<LoadState> => {
    const ups: number[] = [];
    const failures: Record<string, number> = {};
    for (const end = performance.now() + patienceMs; performance.now() < end; await sleep(100)) {
      const state = await load.ask({ do: "state" });
      ups.push(...state.ups);
      for (const [code, tries] of Object.entries(state.failures)) failures[code] = (failures[code] ?? 0) + tries;
      if (state.open === count) return { ...state, ups, failures };
    }
    throw new Error(`not all of ${count} tunnels are up within ${patienceMs / 1000} s`);
  };
  return { ...load, allOpen };
}
