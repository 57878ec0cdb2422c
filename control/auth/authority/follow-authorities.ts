import { setTimeout as sleep } from "node:timers/promises";
import type { AuthContext } from "../auth-context.ts";
import { authorityPrefix } from "./key-ring.ts";

/** Delay after a failed watch, ms. */
const retryMs = 1_000;

/** Applies another process's changes to the authorities, until the signal. Never rejects. */
export async function followAuthorities(
  { storage, authorities, log }: Pick<AuthContext, "storage" | "authorities" | "log">,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      for await (const _ of storage.watch([authorityPrefix], signal)) await authorities.refresh();
    } catch (error) {
      if (!signal.aborted) log.error("could not watch the authorities", { error });
    }
    await sleep(retryMs, undefined, { signal, ref: false }).catch(() => {});
  }
}
