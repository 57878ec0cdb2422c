import { setTimeout as sleep } from "node:timers/promises";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import { answeredJson, type KubernetesRequests } from "../../../core/kubernetes/kubernetes-api.ts";
import type { Log } from "../../../core/log/log.ts";
import { memoryAnnotation, statusAnnotation, targetAnnotation } from "../update/update-memory.ts";
import { type KubeCluster, workloadOfEvent } from "./kube-cluster.ts";
import { WatchLines } from "./watch-lines.ts";
import type { Workload } from "./workload.ts";

export interface WatchOptions {
  readonly cluster: Pick<KubeCluster, "workload" | "watchPath">;
  readonly requests: KubernetesRequests;
  readonly container: string;
  readonly log: Log;
  /** Called for each change that others have made, and for the workload as found at first. */
  readonly changed: () => void;
  readonly random?: () => number;
}

/** Time after which the API server ends a watch, s, and the silence after which this side does: a connection may be dead without an end. */
const watchSeconds = 300;
const silenceMs = (watchSeconds + 15) * 1000;
/** Shortest and longest pause between two watches, ms. */
const firstPauseMs = 500;
const longestPauseMs = 30_000;

/**
 * Watches the workload until aborted. Never throws: a watch is an optimisation, as the updater looks every half an hour anyhow.
 * A watch begins at the resourceVersion of an object that was read; one that has run out there (410) reads it again.
 */
export async function watchWorkload(options: WatchOptions, signal: AbortSignal): Promise<void> {
  const { log, random = Math.random } = options;
  let pause = firstPauseMs;
  const seen = new LastSeen(options.changed);
  while (!signal.aborted) {
    try {
      const workload = await options.cluster.workload(signal);
      seen.see(workload);
      const events = await watchFrom(workload, seen, options, signal);
      if (events > 0) pause = firstPauseMs;
    } catch (thrown) {
      if (signal.aborted) return;
      log.debug("the watch ended", { error: errorText(thrown) });
      pause = Math.min(longestPauseMs, pause * 2);
    }
    await sleep(pause * (0.5 + random()), undefined, { signal }).catch(() => {});
  }
}

/** One watch, until it ends; the number of its events. Throws for an answer that is none, for silence, and for an ERROR event. */
async function watchFrom(workload: Workload, seen: LastSeen, options: WatchOptions, signal: AbortSignal): Promise<number> {
  const { cluster, requests, container } = options;
  const query = `&watch=true&allowWatchBookmarks=true&timeoutSeconds=${watchSeconds}&resourceVersion=${encodeURIComponent(workload.resourceVersion)}`;
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(new PlatformError("timeout", "the watch was silent")), silenceMs).unref();
  try {
    const path = `${cluster.watchPath(workload.kind)}${query}`;
    const answer = await requests.stream({ method: "GET", path, signal: AbortSignal.any([signal, silence.signal]) });
    if (answer.status !== 200) answeredJson({ status: answer.status, body: Buffer.alloc(0) }, "could not watch the workload");
    const lines = new WatchLines();
    let events = 0;
    for await (const bytes of answer.body) {
      timer.refresh();
      events += seen.read(lines.push(bytes), container);
    }
    return events;
  } finally {
    clearTimeout(timer);
  }
}

/** Tells others' changes from those of the updater's own annotations. */
class LastSeen {
  readonly #changed: () => void;
  #mark = "";

  constructor(changed: () => void) {
    this.#changed = changed;
  }

  /** Lines of a watch; their number. Throws for an ERROR event, 410 among others: the object is read again, and the watch begins there. */
  read(lines: readonly string[], container: string): number {
    for (const line of lines) {
      const event = workloadOfEvent(line, container);
      if (event.type === "ERROR") throw new PlatformError("unavailable", `the API server ended the watch: ${line.slice(0, 200)}`);
      if (event.type !== "BOOKMARK") this.see(event.workload);
    }
    return lines.length;
  }

  see(workload: Workload | undefined): void {
    const mark = workload === undefined ? "gone" : markOf(workload);
    if (mark === this.#mark) return;
    this.#mark = mark;
    this.#changed();
  }
}

const own = new Set<string>([memoryAnnotation, statusAnnotation, targetAnnotation]);

/** Everything of the workload that the updater decides by, except its own notes. */
function markOf(found: Workload): string {
  const { resourceVersion: _, annotations, ...workload } = found;
  const others = Object.entries(annotations).filter(([name]) => !own.has(name));
  return JSON.stringify([workload, others]);
}
