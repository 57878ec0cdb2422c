import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** Time of everything in a release, Unix seconds: SOURCE_DATE_EPOCH, or that of the last commit. */
export async function releaseTime(root: string): Promise<number> {
  const given = process.env.SOURCE_DATE_EPOCH ?? (await promisify(execFile)("git", ["log", "-1", "--format=%ct"], { cwd: root })).stdout;
  const seconds = Number(given);
  if (!Number.isSafeInteger(seconds) || seconds < 0) throw new Error(`SOURCE_DATE_EPOCH is ${given}; expected Unix seconds`);
  return seconds;
}
