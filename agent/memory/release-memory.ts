import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { errorText } from "../../core/errors/platform-error.ts";
import type { Log } from "../../core/log/log.ts";
import { type MemoryAddon, memoryAddon } from "./memory-addon.ts";

/**
 * Gives back what the process does not need while it idles: garbage first, then what native code freed and the executable's
 * pages. Stops the process for some 20 ms. Where the addon cannot be loaded it is the collection alone.
 */
export function releaseMemory(log: Log, load: () => MemoryAddon | undefined = memoryAddon): void {
  try {
    collectGarbage();
    load()?.release();
  } catch (thrown) {
    log.debug("memory is not given back", { error: errorText(thrown) });
  }
}

/** As an option at start, --expose-gc would make V8 reject the code that comes compiled with the runtime. */
function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  setFlagsFromString("--no-expose-gc");
  if (typeof collect === "function") collect();
}
