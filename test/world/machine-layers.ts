import { copyFile, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { contentsDigest, keptFolder } from "./kept-folder.ts";
import { debianRoot, type RpmManager, rpmPackages, rpmScript } from "./machine-recipes.ts";
import { output, run } from "./program.ts";

/**
 * Read-only folders for an overlay, top first: the Debian root that all machines share, and the layers over it. Each is made
 * at its first use (the root takes 25 s, the rpm layer 15 s) and kept for all checkouts of this machine, named for its recipe.
 */
export async function machineLayers(rpm: RpmManager | undefined, packages: readonly string[]): Promise<string[]> {
  const root = await layer("root", { debianRoot, how: makeRoot.toString() }, makeRoot);
  const layers = [root];
  if (rpm !== undefined) {
    const recipe = { packages: rpmPackages[rpm], script: rpmScript };
    layers.unshift(await layerOver(layers, rpm, recipe));
  }
  if (packages.length > 0) {
    const recipe = { packages, script: "" };
    layers.unshift(await layerOver(layers, "more", recipe));
  }
  return layers;
}

interface Recipe {
  readonly packages: readonly string[];
  /** Run by sh in the new layer. */
  readonly script: string;
}

/** Another way to make it, or another layer below, is another layer. */
async function layerOver(below: readonly string[], name: string, recipe: Recipe): Promise<string> {
  const contents = { recipe, how: makeLayer.toString(), below: await Promise.all(below.map(contentsDigest)) };
  return await layer(name, contents, (dir) => makeLayer(dir, below, recipe));
}

async function layer(name: string, contents: unknown, make: (dir: string) => Promise<void>): Promise<string> {
  return await keptFolder({ name: `machine-${name}`, contents }, make, { release });
}

/** Mounts of a killed attempt, in the half-made folder and beside it. */
async function release(half: string): Promise<void> {
  const mounts = [`${half}.mount/proc`, `${half}.mount`, ...["proc", "sys", "dev"].map((name) => join(half, name))];
  for (const mount of mounts) await run("umount", ["--lazy", "--quiet", mount]);
}

async function makeRoot(dir: string): Promise<void> {
  const without = ["man", "doc", "locale"].map((folder) => `--dpkgopt=path-exclude=/usr/share/${folder}/*`);
  const options = ["--variant=minbase", "--mode=root", "--quiet", `--include=${debianRoot.packages.join(",")}`, "--aptopt=Acquire::Languages none"];
  const env = await proxyOfApt();
  await output("mmdebstrap", [...options, ...without, debianRoot.suite, dir, await mirror()], { env, limitMs: 300_000 });
  await output("chroot", [dir, "sh", "-e"], { input: debianRoot.script });
  await rm(join(dir, "etc/resolv.conf"), { force: true });
  await writeFile(join(dir, "etc/resolv.conf"), "");
}

async function makeLayer(dir: string, below: readonly string[], recipe: Recipe): Promise<void> {
  const [work, root] = [`${dir}.work`, `${dir}.mount`];
  await rm(work, { recursive: true, force: true });
  for (const folder of [work, root]) await mkdir(folder, { recursive: true });
  await output("mount", ["-t", "overlay", "overlay", "-o", `lowerdir=${below.join(":")},upperdir=${dir},workdir=${work}`, root]);
  try {
    await output("mount", ["-t", "proc", "proc", join(root, "proc")]);
    await copyFile("/etc/resolv.conf", join(root, "etc/resolv.conf"));
    await writeFile(join(root, "usr/sbin/policy-rc.d"), "#!/bin/sh\nexit 101\n", { mode: 0o755 });
    await writeFile(join(root, "etc/apt/sources.list"), `deb ${await mirror()} ${debianRoot.suite} main\n`);
    const install = `apt-get -qq update\napt-get -qq install --no-install-recommends ${recipe.packages.join(" ")} >/dev/null\napt-get clean\n`;
    const input = `${install}rm -rf /var/lib/apt/lists/* /usr/sbin/policy-rc.d /etc/apt/sources.list\n: >/etc/resolv.conf\n${recipe.script}`;
    await output("chroot", [root, "sh", "-e"], { input, env: { DEBIAN_FRONTEND: "noninteractive", ...(await proxyOfApt()) }, limitMs: 300_000 });
  } finally {
    await run("umount", ["--lazy", join(root, "proc")]);
    await output("umount", [root]);
    await rm(root, { recursive: true });
    await rm(work, { recursive: true, force: true });
  }
}

/** The Debian mirror that this machine's apt is set up with. */
export async function mirror(): Promise<string> {
  const format = ["--format", "$(REPO_URI)", "Created-By: Packages", "Label: Debian"];
  const [first] = (await output("apt-get", ["indextargets", ...format])).split("\n");
  return first !== undefined && first !== "" ? first : "http://deb.debian.org/debian/";
}

async function proxyOfApt(): Promise<Record<string, string>> {
  const [, proxy] = /='(.+)'/.exec((await run("apt-config", ["shell", "PROXY", "Acquire::http::Proxy"])).stdout) ?? [];
  return proxy === undefined ? {} : { http_proxy: proxy };
}
