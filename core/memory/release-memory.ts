import { errorText } from "../errors/platform-error.ts";
import type { Log } from "../log/log.ts";
import { type MemoryAddon, memoryAddon } from "./memory-addon.ts";

/**
 * Releases memory that an idle process does not need: memory freed by native code, and the executable's pages that start-up
 * touched. Does nothing where the addon cannot be loaded. Garbage is separate (collect-garbage.ts): in an agent, collecting it first gained nothing.
 */
export function releaseMemory(log: Log, load: () => MemoryAddon | undefined = memoryAddon): void {
  try {
    load()?.release();
  } catch (thrown) {
    log.debug("could not release memory", { error: errorText(thrown) });
  }
}
