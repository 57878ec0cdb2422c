import { errorText } from "../errors/platform-error.ts";
import type { Log } from "../log/log.ts";
import { type MemoryAddon, memoryAddon } from "./memory-addon.ts";

/**
 * Gives back what the process does not need while it idles: what native code freed, and the executable's pages that starting
 * touched. Does nothing where the addon cannot be loaded. Garbage is another matter (collect-garbage.ts): in an agent, collecting it first brought nothing.
 */
export function releaseMemory(log: Log, load: () => MemoryAddon | undefined = memoryAddon): void {
  try {
    load()?.release();
  } catch (thrown) {
    log.debug("memory is not given back", { error: errorText(thrown) });
  }
}
