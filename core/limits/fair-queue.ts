import { PlatformError } from "../errors/platform-error.ts";
import type { QueueOptions, Queues } from "./queue.ts";

interface Waiter {
  readonly start: () => void;
  readonly refuse: () => void;
}

/**
 * One queue for the calls of all keys, which take turns: at most `atOnce` run and `waiting` wait. When it is full, a key that has fewer waiting takes the
 * place of the latest call of the key that has most, which fails with `limit`.
 */
export function createFairQueue({ atOnce, waiting, what = "requests" }: QueueOptions): Queues {
  /** In the order of their turns; none is empty. */
  const lines = new Map<string, Waiter[]>();
  let [running, held] = [0, 0];
  const limit = (): PlatformError => new PlatformError("limit", `too many concurrent ${what}; try again shortly`);
  const makeRoom = (key: string): void => {
    const [longest = []] = [...lines.values()].sort((one, other) => other.length - one.length);
    if (longest.length <= (lines.get(key)?.length ?? 0) + 1) throw limit();
    longest.pop()?.refuse();
    held -= 1;
  };
  const wait = async (key: string): Promise<void> => {
    if (held >= waiting) makeRoom(key);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    lines.set(key, [...(lines.get(key) ?? []), { start: resolve, refuse: () => reject(limit()) }]);
    held += 1;
    await promise;
  };
  const next = (): void => {
    const [first] = lines;
    if (first === undefined) {
      running -= 1;
      return;
    }
    const [key, [turn, ...rest]] = first;
    lines.delete(key);
    if (rest.length > 0) lines.set(key, rest);
    held -= 1;
    turn?.start();
  };
  return async (key, work) => {
    if (running >= atOnce) await wait(key);
    else running += 1;
    try {
      return await work();
    } finally {
      next();
    }
  };
}
