import { PlatformError } from "../../../core/errors/platform-error.ts";

/** Runs work of the same key one after the other. */
export type Turns = <T>(key: string, work: () => Promise<T>) => Promise<T>;

/** Default maximum of callers waiting for one key. */
const usualWaiting = 16;

export function createTurns(maxWaiting = usualWaiting): Turns {
  const lines = new Map<string, { last: Promise<unknown>; length: number }>();
  return async (key, work) => {
    const line = lines.get(key) ?? { last: Promise.resolve(), length: 0 };
    if (line.length >= maxWaiting) throw new PlatformError("limit", "too many concurrent requests", { hint: "try again shortly" });
    line.length += 1;
    lines.set(key, line);
    const mine = line.last.then(work);
    line.last = mine.catch(() => {});
    try {
      return await mine;
    } finally {
      line.length -= 1;
      if (line.length === 0) lines.delete(key);
    }
  };
}
