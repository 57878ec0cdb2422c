import { isSea } from "node:sea";
import { fileURLToPath } from "node:url";

/**
 * How to start this program again: the executable alone, or Node with main.ts when it runs from source. The executable is
 * the one that runs: its file may have been replaced by another version, which may not work.
 */
export function ownCommand(): readonly [program: string, ...args: string[]] {
  return isSea() ? ["/proc/self/exe"] : [process.execPath, fileURLToPath(new URL("../../../main.ts", import.meta.url))];
}
