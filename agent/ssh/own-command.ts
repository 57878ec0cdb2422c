import { isSea } from "node:sea";
import { fileURLToPath } from "node:url";

/** How to start this program again: the executable alone, or Node with main.ts when it runs from source. */
export function ownCommand(): readonly [program: string, ...args: string[]] {
  return isSea() ? [process.execPath] : [process.execPath, fileURLToPath(new URL("../../main.ts", import.meta.url))];
}
