import { isSea } from "node:sea";

/**
 * The words that start this program again with the same arguments: the executable as it lies on the disk now. Once a package
 * has replaced the file, the kernel names the running one "… (deleted)": the successor is what stands at its place.
 */
export function sameCommand(): readonly string[] {
  const program = process.execPath.replace(/ \(deleted\)$/, "");
  // Without the executable (run from source), the second word is the script.
  return isSea() ? [program, ...process.argv.slice(2)] : [program, ...process.execArgv, ...process.argv.slice(1)];
}
