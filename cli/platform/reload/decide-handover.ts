/** What the old process knows of the one that is to replace it. Times are ms of one monotonic clock. */
export interface HandoverFacts {
  readonly now: number;
  readonly startedAt: number;
  /** The pipe to it has ended, or it said what is wrong. */
  readonly fault?: string | undefined;
  /** When it last said anything; left out: never. */
  readonly heardAt?: number | undefined;
  /** Since when it serves everything that it is configured for; left out: it does not. */
  readonly readySince?: number | undefined;
  /** Since when this process is connected itself; left out: it is not, so that nothing can be asked of the other. */
  readonly connectedSince?: number | undefined;
}

export type Handover =
  | { readonly act: "wait" }
  | { readonly act: "hand over"; readonly why: string }
  | { readonly act: "give up"; readonly why: string };

/** A process that is ready is watched for this long, ms, before it takes over. */
export const probationMs = 10_000;
/** For a process to become ready where the old one is, ms. */
export const readyMs = 30_000;
/** A process that says nothing for this long hangs, ms: it says something every second. */
export const silenceMs = 20_000;

/** Pure: what becomes of the process that is to replace this one. */
export function decideHandover(facts: HandoverFacts): Handover {
  const { now, startedAt, fault, heardAt, readySince, connectedSince } = facts;
  if (fault !== undefined) return { act: "give up", why: fault };
  const silent = now - (heardAt ?? startedAt);
  if (silent >= silenceMs) return { act: "give up", why: heardAt === undefined ? "it does not start" : "it hangs" };
  if (readySince !== undefined) {
    return now - readySince >= probationMs ? { act: "hand over", why: "it is ready and stays so" } : { act: "wait" };
  }
  // What this process cannot do either says nothing against the other: the network may be down.
  const measuredSince = connectedSince === undefined ? undefined : Math.max(startedAt, connectedSince);
  if (measuredSince !== undefined) {
    return now - measuredSince >= readyMs ? { act: "give up", why: `it was not ready within ${readyMs / 1000} s` } : { act: "wait" };
  }
  return now - startedAt >= readyMs ? { act: "hand over", why: "it runs, and neither process is connected" } : { act: "wait" };
}
