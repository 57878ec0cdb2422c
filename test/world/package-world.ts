import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makePackages } from "../../scripts/package/make-packages.ts";
import { publishRepository } from "../../scripts/repository/publish.ts";
import { holdLock } from "./hold-lock.ts";
import { type Broken, brokenProgram, brokenPrograms, nextDist } from "./package-world-broken.ts";
import { root, sourceDigest } from "./package-world-sources.ts";
import { output, run } from "./program.ts";

/** The versions in its repository. `now` is the version of the tests' control. */
export const packagedVersions = { now: "1.0.0", next: "1.1.0", crashes: "1.2.0", hangs: "1.3.0", unconnected: "1.4.0" } as const;

/**
 * Our real packages, deb and rpm, in two sound and three broken versions, in a signed repository. Shared: write to copies only.
 *
 *     const world = await packageWorld();
 *     await using cluster = await startCluster({ …, proxyService: `  packages_dir: ${world.repository}\n` });
 *     await using machine = await startMachine({ binds: world.binds, … });       // the broken versions need the binds
 *     await machine.copyIn(join(world.packages, "platform-ent_1.0.0_amd64.deb"), "/tmp/platform-ent.deb");
 */
export interface PackageWorld {
  /** For `packages_dir`: apt/, yum/, keys/. */
  readonly repository: string;
  /** All packages, in one folder. */
  readonly packages: string;
  /** gpg's folder with the secret key, to sign more with. */
  readonly gnupghome: string;
  /** Of the signing key, 40 digits. */
  readonly fingerprint: string;
  /** Built programs of the two sound versions: platform, tsh, tctl, platform-upgrade, pty.node. */
  readonly dist: { readonly now: string; readonly next: string };
  /** For machines that get a broken version. */
  readonly binds: Readonly<Record<string, string>>;
  /** A copy of the repository, of hard links where it can be: replace files in it, do not write into them. */
  copyTo(dir: string): Promise<void>;
}

const cache = join(root, ".cache/world/packages");
/** Worlds of other sources that are kept; each has some 800 MB. */
const kept = 2;

/**
 * Makes them at the first use for the sources as they are (about a minute), under a lock; later uses share them. For quick tries,
 * PLATFORM_TEST_PACKAGES=last takes the newest that is there, and PLATFORM_TEST_PACKAGES=DIR that folder, whatever the sources are.
 */
export async function packageWorld(): Promise<PackageWorld> {
  const wanted = process.env.PLATFORM_TEST_PACKAGES;
  const there = wanted === "last" ? (await worlds())[0] : wanted;
  const dir = there ?? join(cache, await sourceDigest(JSON.stringify([packagedVersions, brokenPrograms])));
  if (!existsSync(dir)) {
    await holdLock(join(cache, "lock"), async () => {
      if (existsSync(dir)) return;
      const half = join(cache, "half");
      await rm(half, { recursive: true, force: true });
      await make(half);
      await rename(half, dir);
      for (const old of (await worlds()).slice(kept + 1)) await rm(old, { recursive: true, force: true });
    });
  }
  await utimes(dir, new Date(), new Date());
  return describe(dir);
}

async function describe(dir: string): Promise<PackageWorld> {
  const dist = { now: join(dir, "dist-now"), next: join(dir, "dist-next") };
  const repository = join(dir, "repository");
  const fingerprint = (await readFile(join(dir, "fingerprint"), "utf8")).trim();
  return {
    ...{ repository, dist, fingerprint, packages: join(dir, "packages"), gnupghome: join(dir, "gnupg") },
    binds: { [dist.next]: nextDist },
    copyTo: async (to) => {
      const linked = await run("cp", ["--archive", "--link", `${repository}/.`, to]);
      // Another file system: no links across.
      if (linked.status !== 0) await output("cp", ["--archive", `${repository}/.`, to]);
    },
  };
}

async function make(dir: string): Promise<void> {
  const [packages, gnupghome] = [join(dir, "packages"), join(dir, "gnupg")];
  await mkdir(gnupghome, { recursive: true, mode: 0o700 });
  const build = async (which: "now" | "next"): Promise<void> => {
    const dist = join(dir, `dist-${which}`);
    await output(process.execPath, [join(root, "scripts/build.ts"), "--version", packagedVersions[which], dist], { limitMs: 300_000 });
    await pack({ dir: dist, version: packagedVersions[which], executable: join(dist, "platform"), out: packages });
  };
  await Promise.all([build("now"), build("next")]);
  for (const kind of Object.keys(brokenPrograms) as Broken[]) {
    const executable = join(dir, `platform-${kind}`);
    await writeFile(executable, brokenProgram(kind, packagedVersions[kind]), { mode: 0o755 });
    await pack({ dir: join(dir, "dist-next"), version: packagedVersions[kind], executable, out: packages });
  }
  const gpg = ["--homedir", gnupghome, "--batch", "--quiet", "--passphrase", "", "--pinentry-mode", "loopback"];
  await output("gpg", [...gpg, "--quick-generate-key", "Test packages <packages@test.invalid>", "rsa3072", "sign", "never"]);
  const listed = await output("gpg", [...gpg, "--with-colons", "--list-keys"]);
  await writeFile(join(dir, "fingerprint"), /^fpr:+([0-9A-F]{40}):/m.exec(listed)?.[1] ?? "");
  await publishRepository({ packages, out: join(dir, "repository"), keys: { gnupghome }, now: new Date() });
  await output("gpgconf", ["--homedir", gnupghome, "--kill", "all"]);
}

interface Wanted {
  readonly dir: string;
  readonly version: string;
  readonly executable: string;
  readonly out: string;
}

async function pack({ dir, version, executable, out }: Wanted): Promise<void> {
  const programs = { executable, updater: join(dir, "platform-upgrade"), pty: join(dir, "pty.node") };
  const arch = process.arch === "arm64" ? "arm64" : "x64";
  await makePackages({ root, out, version, arch, formats: ["deb", "rpm"], fast: true, epoch: 1_790_000_000, ...programs });
}

/** Those that are there, the last used first. */
async function worlds(): Promise<string[]> {
  const names = (await readdir(cache).catch(() => [])).filter((name) => /^[0-9a-f]{12}$/.test(name));
  const dated = await Promise.all(names.map(async (name) => ({ dir: join(cache, name), at: (await stat(join(cache, name))).mtimeMs })));
  return dated.sort((a, b) => b.at - a.at).map(({ dir }) => dir);
}
