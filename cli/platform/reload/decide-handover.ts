import type { ConnectionProblem } from "./process-state.ts";

/** The old process's knowledge of its successor. Times are ms of one monotonic clock. */
export interface HandoverFacts {
  readonly now: number;
  readonly startedAt: number;
  /** The pipe to it has ended, or it reported a fault. */
  readonly fault?: string | undefined;
  /** When it last sent a message; undefined: never. */
  readonly heardAt?: number | undefined;
  /** When every configured service became ready; undefined: not yet. */
  readonly readySince?: number | undefined;
  /** Why it is not connected, as it last reported. */
  readonly problem?: ConnectionProblem | undefined;
  /** When this process itself was connected; undefined: it is not, so the same cannot be required of the other. */
  readonly connectedSince?: number | undefined;
}

export type Handover =
  | { readonly act: "wait" }
  | { readonly act: "hand over"; readonly why: string }
  | {
      readonly act: "give up";
      readonly why: string;
      /** Set if the successor runs and could not connect, while this process is connected. */
      readonly problem?: ConnectionProblem;
    };

/** How long a ready process is observed before it takes over, ms. */
export const probationMs = 10_000;
/** Time for a process to become ready where the old one is ready, ms. */
export const readyMs = 30_000;
/** Silence after which a process counts as hung, ms: it sends a message every second. */
export const silenceMs = 20_000;

/** Decides about the successor of this process. Pure. */
export function decideHandover(facts: HandoverFacts): Handover {
  const { now, startedAt, fault, heardAt, readySince, problem, connectedSince } = facts;
  if (fault !== undefined) return { act: "give up", why: fault };
  const silent = now - (heardAt ?? startedAt);
  if (silent >= silenceMs) return { act: "give up", why: heardAt === undefined ? "it did not start" : "it hangs" };
  if (readySince !== undefined) {
    return now - readySince >= probationMs ? { act: "hand over", why: "it is ready and remained so" } : { act: "wait" };
  }
  // A thing that this process cannot do either is not held against the other: the network may be down.
  const measuredSince = connectedSince === undefined ? undefined : Math.max(startedAt, connectedSince);
  if (measuredSince !== undefined) {
    if (now - measuredSince < readyMs) return { act: "wait" };
    const late = `it was not ready within ${readyMs / 1000} s`;
    return problem === undefined ? { act: "give up", why: late } : { act: "give up", why: `${late}: ${problem.error}`, problem };
  }
  return now - startedAt >= readyMs ? { act: "hand over", why: "it runs, and neither process is connected" } : { act: "wait" };
}
