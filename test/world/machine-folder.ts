import { existsSync, readFileSync } from "node:fs";
import { mkdir, readdir, readFile, rm, rmdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { run } from "./program.ts";

/** Fixed, so that leftovers of a killed test run are found by the next one, of any clone. */
const runs = "/tmp/platform-test-machines";

/** A machine's own folder, named for it, in that of who runs it: never is there one without its owner, which another run would remove. */
export async function makeMachineFolder(name: string): Promise<string> {
  await removeLeftovers();
  const dir = join(runs, `${process.pid}-${startOf(process.pid)}`, name);
  await mkdir(dir, { recursive: true });
  return dir;
}

/** Undoes everything that the machine of this folder may have: processes, mounts, network, cgroups, files. */
export async function removeMachine(dir: string): Promise<void> {
  const name = basename(dir);
  const leader = Number(await readFile(join(dir, "leader"), "utf8").catch(() => "0"));
  if (leader > 1 && existsSync(`/proc/${leader}/root/etc/platform-test-machine-${name}`)) kill(leader);
  for (const mount of [join(dir, "root"), join(dir, "disk")]) {
    if (existsSync(mount)) await run("umount", ["--lazy", "--quiet", mount]);
  }
  await run("ip", ["netns", "del", name]);
  await run("ip", ["link", "del", name]);
  // A process that was just killed may still write.
  await rm(dir, { recursive: true, force: true, maxRetries: 5 });
  for (const controller of controllers()) await removeTree(join(controller, name));
}

/** The cgroup hierarchies that systemd uses: version 2 alone, or beside version 1. */
export function controllers(): string[] {
  if (existsSync("/sys/fs/cgroup/cgroup.controllers")) return ["/sys/fs/cgroup"];
  return ["/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified"].filter((dir) => existsSync(dir));
}

async function removeLeftovers(): Promise<void> {
  for (const owner of await readdir(runs).catch(() => [])) {
    const [pid, started] = owner.split("-");
    if (startOf(Number(pid)) === started) continue;
    for (const name of await readdir(join(runs, owner)).catch(() => [])) await removeMachine(join(runs, owner, name));
    await rm(join(runs, owner), { recursive: true, force: true });
  }
}

/** When a process started, in ticks since the boot, or "gone": tells a process from a later one of the same number. */
function startOf(pid: number): string {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    return text.slice(text.lastIndexOf(")")).split(" ")[20] ?? "gone";
  } catch {
    return "gone";
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It was gone already.
  }
}

async function removeTree(dir: string): Promise<void> {
  const inner = await readdir(dir, { withFileTypes: true }).catch(() => []);
  for (const entry of inner) if (entry.isDirectory()) await removeTree(join(dir, entry.name));
  await rmdir(dir).catch(() => {});
}
