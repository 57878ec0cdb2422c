import { appendFile, mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { machineLayers } from "./machine-layers.ts";
import { type MachineOptions, osReleases } from "./machine-options.ts";
import { output } from "./program.ts";

/** Mounts the machine's disk at `dir`/root: the cached layers below, its own folder on top, and what `options` want in /etc. */
export async function mountDisk(dir: string, name: string, options: MachineOptions): Promise<void> {
  const manager = options.manager ?? "apt";
  const layers = await machineLayers(manager === "apt" ? undefined : manager === "yum" ? "dnf" : manager, options.packages ?? []);
  const [disk, root] = [join(dir, "disk"), join(dir, "root")];
  for (const folder of [disk, root]) await mkdir(folder);
  if (options.diskMb !== undefined) await output("mount", ["-t", "tmpfs", "-o", `size=${options.diskMb}m`, name, disk]);
  const [upper, work] = [join(disk, "upper"), join(disk, "work")];
  for (const folder of [upper, work]) await mkdir(folder);
  // volatile: nothing is written through to the real disk. A power cut here loses no page that the kernel holds anyway.
  const layout = `lowerdir=${layers.join(":")},upperdir=${upper},workdir=${work},volatile`;
  await output("mount", ["-t", "overlay", name, "-o", layout, root]);
  await writeFile(join(root, `etc/platform-test-machine-${name}`), "");
  const hosts = Object.entries(options.hosts ?? {}).map(([host, address]) => `${address} ${host}\n`);
  await writeFile(join(root, "etc/hosts"), `127.0.0.1 localhost ${options.hostname ?? name}\n${hosts.join("")}`);
  await trust(root, options.ca ?? []);
  if (manager !== "apt") await imitate(root, manager);
}

async function trust(root: string, authorities: readonly string[]): Promise<void> {
  for (const [index, pem] of authorities.entries()) {
    await writeFile(join(root, `usr/local/share/ca-certificates/test-${index}.crt`), pem);
    // As update-ca-certificates would, which takes a second.
    await appendFile(join(root, "etc/ssl/certs/ca-certificates.crt"), pem);
  }
}

async function imitate(root: string, manager: "dnf" | "yum" | "zypper"): Promise<void> {
  await rm(join(root, "etc/os-release"));
  await writeFile(join(root, "etc/os-release"), osReleases[manager]);
  if (manager !== "yum") return;
  await rm(join(root, "usr/bin/dnf"));
  await rm(join(root, "usr/bin/yum"));
  await symlink("dnf-3", join(root, "usr/bin/yum"));
}
