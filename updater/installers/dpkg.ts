import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { RunOnHost } from "./host-command.ts";
import { fromPackageVersion } from "./installer.ts";
import { fetched, keptFolder } from "./kept-packages.ts";
import { clearMark, interrupted } from "./transaction-mark.ts";

/** Keeps configuration files that the admin has changed; replaces the others. */
export const keepConfiguration = ["--force-confdef", "--force-confold"] as const;

const ours = ["platform-ent", "platform-ent-updater"] as const;

interface DpkgState {
  /** In dpkg's form: `1.2.0~rc.1`. */
  readonly version: string;
  readonly status: string;
  /** Its files are a mix of both versions. */
  readonly broken: boolean;
}

/** Semver of the version on disk; undefined if not installed, or if only its configuration is left. */
export async function findInstalled(name: string, run: RunOnHost): Promise<string | undefined> {
  const state = await stateOf(name, run);
  return state === undefined ? undefined : fromPackageVersion(state.version);
}

async function stateOf(name: string, run: RunOnHost): Promise<DpkgState | undefined> {
  const format = `\${db:Status-Eflag} \${db:Status-Status} \${Version}\n`;
  const what = `could not read the state of ${name}`;
  const { status, stdout } = await run({ file: "dpkg-query", args: ["-W", "-f", format, name], step: "other", what, ok: [0, 1] });
  if (status !== 0) return undefined;
  const [flag, state = "not-installed", version = ""] = stdout.trim().split(" ");
  if (state === "not-installed" || state === "config-files" || version === "") return undefined;
  return { version, status: state, broken: flag === "reinstreq" || state === "half-installed" };
}

/** Lets dpkg finish an interrupted transaction; a partly unpacked package of ours is unpacked again when its file is available. */
export async function healDpkg(run: RunOnHost): Promise<"clean" | "healed"> {
  const audit = await run({ file: "dpkg", args: ["--audit"], step: "other", what: "could not read the state of dpkg", ok: [0, 1] });
  if (audit.stdout.trim() === "" && !(await hasPendingUpdates())) {
    await clearMark();
    return "clean";
  }
  const name = await interrupted();
  for (const one of new Set(name === undefined ? ours : [...ours, name])) await unpackAgain(one, run);
  const what = "could not complete the interrupted installation";
  await run({ file: "dpkg", args: [...keepConfiguration, "--configure", "--pending"], step: "install", what });
  await clearMark();
  return "healed";
}

/** dpkg's journal: written while it works, emptied at its end. */
async function hasPendingUpdates(): Promise<boolean> {
  try {
    return (await readdir("/var/lib/dpkg/updates")).some((file) => /^\d+$/.test(file));
  } catch {
    return false;
  }
}

async function unpackAgain(name: string, run: RunOnHost): Promise<void> {
  const state = await stateOf(name, run);
  if (state?.broken !== true) return;
  const path = await packageFile(name, state.version);
  if (path === undefined) return;
  await run({ file: "dpkg", args: [...keepConfiguration, "--unpack", path], step: "install", what: `could not unpack ${name} again` });
}

/** The package file of the version that dpkg has on record, or else of the one being installed: either repairs the package. */
async function packageFile(name: string, version: string): Promise<string | undefined> {
  const semver = fromPackageVersion(version);
  const isSame = (file: string): boolean => file.startsWith(`${name}_${version}_`) || file === `${name}_${semver}.deb`;
  let other: string | undefined;
  for (const folder of [keptFolder, fetched]) {
    const files = (await readdir(folder).catch(() => [])).filter((file) => file.endsWith(".deb"));
    const found = files.find(isSame);
    if (found !== undefined) return join(folder, found);
    const fresh = folder === fetched ? files.find((file) => file.startsWith(`${name}_`)) : undefined;
    if (fresh !== undefined) other = join(folder, fresh);
  }
  return other;
}
