import { existsSync, readFileSync } from "node:fs";
import { mkdir, readdir, readFile, rm, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run } from "./program.ts";

/** Fixed, so that what a killed test run left is found by the next one, of whatever clone. */
const runs = "/tmp/platform-machines";

/** A machine's own folder, named for it, with who runs it. */
export async function makeMachineFolder(name: string): Promise<string> {
  await removeLeftovers();
  const dir = join(runs, name);
  await mkdir(dir, { recursive: true });
  await writeFile(join(dir, "owner"), `${process.pid} ${startOf(process.pid)}`);
  return dir;
}

/** Undoes everything that a machine of this name may have: processes, mounts, network, cgroups, files. */
export async function removeMachine(name: string): Promise<void> {
  const dir = join(runs, name);
  const leader = Number(await readFile(join(dir, "leader"), "utf8").catch(() => "0"));
  if (leader > 1 && existsSync(`/proc/${leader}/root/etc/platform-test-machine-${name}`)) kill(leader);
  for (const mount of [join(dir, "root"), join(dir, "disk")]) {
    if (existsSync(mount)) await run("umount", ["--lazy", "--quiet", mount]);
  }
  await run("ip", ["netns", "del", name]);
  await run("ip", ["link", "del", name]);
  await rm(dir, { recursive: true, force: true });
  for (const controller of controllers()) await removeTree(join(controller, name));
}

/** The cgroup hierarchies that systemd uses: version 2 alone, or beside version 1. */
export function controllers(): string[] {
  if (existsSync("/sys/fs/cgroup/cgroup.controllers")) return ["/sys/fs/cgroup"];
  return ["/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified"].filter((dir) => existsSync(dir));
}

async function removeLeftovers(): Promise<void> {
  const names = await readdir(runs).catch(() => []);
  for (const name of names) {
    const [pid, started] = (await readFile(join(runs, name, "owner"), "utf8").catch(() => "0 -")).split(" ");
    if (startOf(Number(pid)) !== started) await removeMachine(name);
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
