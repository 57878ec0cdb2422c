import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { makePackages } from "../../scripts/package/make-packages.ts";
import { publishRepository } from "../../scripts/repository/publish.ts";
import { output } from "./program.ts";

const root = resolve(import.meta.dirname, "../..");

/** A signed repository of our packages in which scripts stand in for the executables: only the effects of the installation matter. */
export interface StandInRepository extends AsyncDisposable {
  /** Bind it into machines: apt/, yum/, keys/platform.asc. */
  readonly folder: string;
}

/** Packs and publishes these versions; a second or so for each. */
export async function makeStandInRepository(versions: readonly string[]): Promise<StandInRepository> {
  const dir = await mkdtemp(join(tmpdir(), "platform-stand-in-"));
  const [folder, gnupghome, packages] = [join(dir, "repository"), join(dir, "gnupg"), join(dir, "packages")];
  await makeTestKey(gnupghome, "Packages Test");
  for (const version of versions) await packStandIns({ work: join(dir, "programs", version), out: packages, version });
  await publishRepository({ packages, out: folder, keys: { gnupghome }, now: new Date() });
  return {
    folder,
    [Symbol.asyncDispose]: async () => {
      await output("gpgconf", ["--homedir", gnupghome, "--kill", "all"]);
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** Makes a key without passphrase; its fingerprint. */
export async function makeTestKey(gnupghome: string, name: string): Promise<string> {
  await mkdir(gnupghome, { recursive: true, mode: 0o700 });
  const gpg = (...args: string[]) => output("gpg", ["--homedir", gnupghome, "--batch", "--quiet", "--passphrase", "", ...args]);
  await gpg("--quick-generate-key", `${name} <packages@example.test>`, "rsa3072", "sign", "never");
  const listing = await gpg("--with-colons", "--list-keys", name);
  return /^fpr:+([0-9A-F]+):/m.exec(listing)?.[1] ?? "";
}

export interface StandInPack {
  /** A folder for the scripts. */
  readonly work: string;
  readonly out: string;
  readonly version: string;
}

/** Packs stand-ins of a version, deb and rpm, into `out`. */
export async function packStandIns({ work, out, version }: StandInPack): Promise<void> {
  await mkdir(work, { recursive: true });
  const programs = { executable: join(work, "platform"), updater: join(work, "platform-upgrade"), pty: join(work, "pty.node") };
  await writeFile(programs.executable, agent(version));
  await writeFile(programs.updater, updater(version));
  await writeFile(programs.pty, "");
  const settings = {
    arch: process.arch === "arm64" ? "arm64" : "x64",
    formats: ["deb", "rpm"],
    fast: true,
    epoch: 1_790_000_000,
  } as const;
  await makePackages({ root, out, version, ...settings, ...programs });
}

/** Serves nothing, but has a process beside it that outlives it, as one that still carries sessions. */
function agent(version: string): string {
  return `#!/bin/sh
if [ "$1" = start ]; then
  echo $$ >/run/platform.pid
  sh -c 'while :; do sleep infinity; done' platform-drains &
  trap 'echo reloaded' HUP
  trap 'exit 0' TERM
  while :; do sleep infinity & wait $!; done
fi
echo "platform ${version}"
`;
}

/** A run executes the commands that a test has left for it. */
function updater(version: string): string {
  return `#!/bin/sh
if [ "$1" = run ] && [ -x /opt/updater-run ]; then exec /opt/updater-run; fi
echo "platform-upgrade ${version}"
`;
}
