import { isSea } from "node:sea";

/**
 * The words that start this program again with the same arguments: the executable now on disk. Once a package
 * has replaced the file, the kernel names the running one "… (deleted)": the successor is the file now at its path.
 */
export function sameCommand(): readonly string[] {
  const program = process.execPath.replace(/ \(deleted\)$/, "");
  // Without the executable (run from source), the second word is the script.
  return isSea() ? [program, ...process.argv.slice(2)] : [program, ...process.execArgv, ...process.argv.slice(1)];
}
