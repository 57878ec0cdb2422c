import { PlatformError } from "../errors/platform-error.ts";

export type Queue = <T>(work: () => Promise<T>) => Promise<T>;
/** A queue for each key. */
export type Queues = <T>(key: string, work: () => Promise<T>) => Promise<T>;

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
  return async (work) => {
    if (running >= atOnce) {
      if (line.length >= waiting) throw new PlatformError("limit", `too many concurrent ${what}; try again shortly`);
      await new Promise<void>((resolve) => line.push(resolve));
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

/** Runs calls of the same key in a queue of these options, and calls of different keys independently. */
export function createQueues(options: QueueOptions): Queues {
  const queues = new Map<string, { readonly run: Queue; calls: number }>();
  return async (key, work) => {
    const queue = queues.get(key) ?? { run: createQueue(options), calls: 0 };
    queues.set(key, queue);
    queue.calls += 1;
    try {
      return await queue.run(work);
    } finally {
      queue.calls -= 1;
      if (queue.calls === 0) queues.delete(key);
    }
  };
}
