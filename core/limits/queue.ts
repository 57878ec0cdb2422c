import { PlatformError } from "../errors/platform-error.ts";

/** Runs `work` in its turn. A call whose `signal` is aborted before leaves its place in the line, and throws the signal's reason. A function: called where it has to wait. */
export type Queue = <T>(work: () => Promise<T>, signal?: WaitSignal) => Promise<T>;
export type WaitSignal = AbortSignal | (() => AbortSignal);
/** A queue for each key. */
export type Queues = <T>(key: string, work: () => Promise<T>) => Promise<T>;
/** The same, with the signal of `Queue`. */
export type LeavableQueues = <T>(key: string, work: () => Promise<T>, signal?: WaitSignal) => Promise<T>;

export interface QueueOptions {
  /** Maximum calls that run at a time. */
  readonly atOnce: number;
  /** Maximum calls that wait; any further one fails with `limit`. */
  readonly waiting: number;
  /** Noun for the refusal; default `requests`. */
  readonly what?: string;
}

/** Runs at most `atOnce` calls at a time; others wait in order. */
export function createQueue({ atOnce, waiting, what = "requests" }: QueueOptions): Queue {
  const line: (() => void)[] = [];
  let running = 0;
  return async (work, signal) => {
    if (typeof signal !== "function") signal?.throwIfAborted();
    if (running >= atOnce) {
      if (line.length >= waiting) throw new PlatformError("limit", `too many concurrent ${what}; try again shortly`);
      await turn(line, typeof signal === "function" ? signal() : signal);
    } else running += 1;
    try {
      return await work();
    } finally {
      const next = line.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}

function turn(line: (() => void)[], signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const leave = (): void => {
      line.splice(line.indexOf(start), 1);
      reject(signal?.reason);
    };
    const start = (): void => {
      signal?.removeEventListener("abort", leave);
      resolve();
    };
    signal?.addEventListener("abort", leave, { once: true });
    line.push(start);
  });
}

/** Runs calls of the same key in a queue of these options, and calls of different keys independently. */
export function createQueues(options: QueueOptions): LeavableQueues {
  const queues = new Map<string, { readonly run: Queue; calls: number }>();
  return async (key, work, signal) => {
    const queue = queues.get(key) ?? { run: createQueue(options), calls: 0 };
    queues.set(key, queue);
    queue.calls += 1;
    try {
      return await queue.run(work, signal);
    } finally {
      queue.calls -= 1;
      if (queue.calls === 0) queues.delete(key);
    }
  };
}
