import { PlatformError } from "../../core/errors/platform-error.ts";

type Queue = <T>(work: () => Promise<T>) => Promise<T>;

/** Runs at most `atOnce` calls at a time; up to `waiting` more wait in order, and any further one fails with `limit`. */
export function createQueue({ atOnce, waiting }: { readonly atOnce: number; readonly waiting: number }): Queue {
  const line: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running >= atOnce) {
      if (line.length >= waiting) throw new PlatformError("limit", "too many concurrent requests; try again shortly");
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
