import { setTimeout as sleep } from "node:timers/promises";

/** Resolves after the time or at the signal, whichever comes first. */
export async function wait(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal });
  } catch {
    // The signal: the caller checks it.
  }
}
