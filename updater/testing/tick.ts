import { runTick } from "../tick/run-tick.ts";
import type { Ending } from "../tick/tick.ts";
import type { MemoryHost } from "./memory-host.ts";

/** One run; undefined when it was killed. */
export async function tick(host: MemoryHost, { forced = false, killAfter = Number.POSITIVE_INFINITY } = {}): Promise<Ending | undefined> {
  const ending = await runTick(host.world(killAfter), { forced }).catch((thrown: unknown) => {
    if (!host.killed) throw thrown;
  });
  return host.killed ? undefined : (ending ?? undefined);
}
