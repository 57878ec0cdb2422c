import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ComputerOptions, openComputer } from "./computer.ts";
import type { Machine } from "./machine.ts";
import { root } from "./package-world-sources.ts";
import { type Finished, output } from "./program.ts";
import { long } from "./rounds.ts";

/** The computer that packages are made on, with a clone of this repository, and a key that the server's sshd takes for root. */
export interface Packager extends AsyncDisposable {
  /** Runs commands at the root of the clone, as they stand in README. */
  follow(block: string): Promise<Finished>;
}

/** Its packages are only for this machine and compressed quickly, except in `make test-long`: options of `make packages` that its help names. */
const quickly = { ARCH: process.arch, ...(!long && { FAST: "1" }) };

export async function openPackager(server: Machine, name: string, options: ComputerOptions): Promise<Packager> {
  const computer = await openComputer(options);
  const clone = await mkdtemp(join(tmpdir(), "platform-clone-"));
  await cloneTo(clone);
  const ssh = join(computer.home, ".ssh");
  await mkdir(ssh, { mode: 0o700 });
  await output("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", join(ssh, "id_ed25519")]);
  await server.write("/root/.ssh/authorized_keys", await readFile(join(ssh, "id_ed25519.pub")), 0o600);
  await writeFile(join(ssh, "known_hosts"), `${name} ${await server.read("/etc/ssh/ssh_host_ed25519_key.pub")}`);
  return {
    follow: (block) => computer.run(block, { cwd: clone, env: quickly, limitMs: long ? 1_200_000 : 180_000 }),
    [Symbol.asyncDispose]: async () => {
      await computer[Symbol.asyncDispose]();
      await rm(clone, { recursive: true, force: true });
    },
  };
}

/** The tree as it is, committed or not; what is installed and kept between builds is that of this one. */
async function cloneTo(clone: string): Promise<void> {
  const shared = ["node_modules", ".git", ".cache/build"];
  const left = [...shared, ".cache", "dist"];
  for (const name of await readdir(root)) if (!left.includes(name)) await cp(join(root, name), join(clone, name), { recursive: true });
  for (const folder of [join(root, ".cache/build"), join(clone, ".cache")]) await mkdir(folder, { recursive: true });
  for (const name of shared) if (existsSync(join(root, name))) await symlink(join(root, name), join(clone, name));
  // Older than the installed packages: nothing is installed again, which would go through the link.
  await utimes(join(clone, "package-lock.json"), 0, 0);
}
