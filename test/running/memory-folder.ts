import { readFileSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";

const memory = "/dev/shm";
/** More than unit tests have at a time, bytes. */
const enough = 1024 ** 3;

/** The folder of temporary files for unit tests: in memory where it has room and programs may run there, as they wait for a disk at each transaction. */
export function memoryFolder(): string {
  try {
    const mounts = readFileSync("/proc/mounts", "utf8").split("\n");
    const [, , , options = "noexec"] = mounts.findLast((line) => line.split(" ")[1] === memory)?.split(" ") ?? [];
    const { bavail, bsize } = statfsSync(memory);
    if (bavail * bsize >= enough && !options.split(",").includes("noexec")) return memory;
  } catch {
    // There is none.
  }
  return tmpdir();
}
