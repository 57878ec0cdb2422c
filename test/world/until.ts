import { setTimeout as sleep } from "node:timers/promises";

/** Longest pause between two attempts, ms. */
const longestPauseMs = 2_000;

/**
 * Asks again until the answer is neither undefined nor false, and gives it. An attempt that throws counts as "not yet".
 * Throws after `limitMs` with the last reason, named by `what`.
 */
export async function until<T>(what: string, ask: () => Promise<T | undefined | false> | T | undefined | false, limitMs = 60_000): Promise<T> {
  const end = performance.now() + limitMs;
  let last: unknown;
  while (performance.now() < end) {
    const begin = performance.now();
    try {
      const answer = await ask();
      if (answer !== undefined && answer !== false) return answer;
    } catch (thrown) {
      last = thrown;
    }
    // An attempt that starts a program costs processor time, which others wait for: a third of the time at most.
    await sleep(Math.min(Math.max(50, 2 * (performance.now() - begin)), longestPauseMs));
  }
  throw new Error(`${what}: not within ${limitMs / 1000} s`, { cause: last });
}
