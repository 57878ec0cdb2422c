import { readFileSync } from "node:fs";
import { mkdir, readdir, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { until } from "./until.ts";

/** Groups of this host as systemd would have made them for a service, in each hierarchy of v1 that limits something. */
export interface ControlGroups extends AsyncDisposable {
  /** By hierarchy, such as `pids`. */
  readonly folders: Readonly<Record<"pids" | "memory", string>>;
}

const root = "/sys/fs/cgroup";

/** Why there can be none; undefined: there can. */
export function groupsSkip(): string | undefined {
  const mounts = readFileSync("/proc/self/mountinfo", "utf8");
  const isThere = ["pids", "memory"].every((one) => mounts.includes(` ${root}/${one} `));
  return process.geteuid?.() === 0 && isThere ? undefined : "needs root, and cgroup v1 with pids and memory";
}

export async function openControlGroups(name: string): Promise<ControlGroups> {
  const folders = { pids: join(root, "pids", `${name}.service`), memory: join(root, "memory", `${name}.service`) };
  for (const folder of Object.values(folders)) await mkdir(folder);
  return {
    folders,
    [Symbol.asyncDispose]: async () => {
      for (const folder of Object.values(folders)) {
        await until(`${folder} is empty`, async () => (await removeTree(folder)) === undefined);
      }
    },
  };
}

/** Undefined when it is gone. */
async function removeTree(folder: string): Promise<unknown> {
  try {
    for (const entry of await readdir(folder, { withFileTypes: true })) if (entry.isDirectory()) await removeTree(join(folder, entry.name));
    return await rmdir(folder);
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === "ENOENT" ? undefined : thrown;
  }
}
