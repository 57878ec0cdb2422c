import { setTimeout as sleep } from "node:timers/promises";
import type { AuthContext } from "../auth-context.ts";
import { authorityPrefix } from "./key-ring.ts";

/** After a watch that failed, ms. */
const retryMs = 1_000;

/** Takes over what another process changes about the authorities, until the signal. Never rejects. */
export async function followAuthorities(
  { storage, authorities, log }: Pick<AuthContext, "storage" | "authorities" | "log">,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      for await (const _ of storage.watch([authorityPrefix], signal)) await authorities.refresh();
    } catch (error) {
      if (!signal.aborted) log.error("the authorities cannot be followed", { error });
    }
    await sleep(retryMs, undefined, { signal, ref: false }).catch(() => {});
  }
}
