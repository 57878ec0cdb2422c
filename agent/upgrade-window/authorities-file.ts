import { readScheduleFile, writeScheduleFile } from "./schedule-file.ts";

const head = "# Written by the platform agent: keys of the cluster's host authority, which sign the versions that the updater takes.\n";

/**
 * Gives the updater the cluster's signing keys: writes `authorities` when its contents differ. Resolves to whether it was written.
 * Throws PlatformError when it cannot be written: an agent that is not root may not create files there.
 */
export async function writeAuthorities(file: string, keys: readonly string[]): Promise<boolean> {
  const text = `${head}${keys.map((key) => `${key}\n`).join("")}`;
  if ((await readScheduleFile(file)) === text) return false;
  await writeScheduleFile(file, text);
  return true;
}
