import { readScheduleFile, writeScheduleFile } from "./schedule-file.ts";

const head = "# Written by the platform agent: keys of the cluster's host authority, which sign the versions that the updater takes.\n";

/**
 * Tells the updater by which keys the cluster signs: writes `authorities` when it says anything else. Resolves to whether it was written.
 * Throws PlatformError when it cannot be: an agent that is not root may not make files there.
 */
export async function writeAuthorities(file: string, keys: readonly string[]): Promise<boolean> {
  const text = `${head}${keys.map((key) => `${key}\n`).join("")}`;
  if ((await readScheduleFile(file)) === text) return false;
  await writeScheduleFile(file, text);
  return true;
}
