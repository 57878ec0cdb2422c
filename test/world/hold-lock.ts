import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Waits for the lock on `file` and holds it while `work` runs. Between processes, by flock(1): it is free again as soon as the
 * process that held it is gone, however it ended.
 */
export async function holdLock<T>(file: string, work: () => Promise<T>): Promise<T> {
  await mkdir(dirname(file), { recursive: true });
  const holder = spawn("flock", ["--exclusive", file, "sh", "-c", "echo held; exec cat"], { stdio: ["pipe", "pipe", "inherit"] });
  const gone = once(holder, "close");
  holder.stdin.on("error", () => {});
  try {
    await Promise.race([
      once(holder.stdout, "data"),
      gone.then(() => {
        throw new Error(`flock ${file} ended`);
      }),
    ]);
    return await work();
  } finally {
    holder.stdin.end();
    await gone;
  }
}
