import { PlatformError } from "../../../core/errors/platform-error.ts";

export type Turns = <T>(work: () => Promise<T>) => Promise<T>;

/** Runs so much at once; the rest waits for its turn, and what finds the line full fails with `limit`. */
export function createTurns({ atOnce, waiting }: { readonly atOnce: number; readonly waiting: number }): Turns {
  const line: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running >= atOnce) {
      if (line.length >= waiting) throw new PlatformError("limit", "too much of this at once");
      // Who leaves hands over its turn.
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
