import { readdir, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { RunOnHost } from "./host-command.ts";
import { fromPackageVersion } from "./installer.ts";
import { keptPackage } from "./kept-packages.ts";
import { clearMark, interrupted } from "./transaction-mark.ts";

/** One entry of rpm's database. */
interface RpmEntry {
  /** `1.2.0~rc.1` */
  readonly version: string;
  /** rpm's name of it: `platform-ent-1.2.0-1.x86_64`. */
  readonly full: string;
  readonly bytes: number;
}

/** Bytes of the installed package's files, and semver of its version. Undefined if not installed. */
export async function findRpm(name: string, run: RunOnHost): Promise<{ readonly version: string; readonly bytes: number } | undefined> {
  const newest = (await entriesOf(name, run)).at(-1);
  return newest && { version: fromPackageVersion(newest.version), bytes: newest.bytes };
}

/** Oldest installation first. Two entries mean that an upgrade was interrupted between the new files and the removal of the old entry. */
async function entriesOf(name: string, run: RunOnHost): Promise<RpmEntry[]> {
  const format = "%{INSTALLTID}|%{INSTALLTIME}|%{VERSION}|%{NAME}-%{VERSION}-%{RELEASE}.%{ARCH}|%{LONGSIZE}\\n";
  const what = `could not read the state of ${name}`;
  const { stdout } = await run({ file: "rpm", args: ["-qa", "--qf", format, name], step: "other", what });
  return parseRpmEntries(stdout);
}

export function parseRpmEntries(text: string): RpmEntry[] {
  const rows = text.split("\n").flatMap((line) => {
    const [tid, time, version, full, bytes] = line.split("|");
    if (version === undefined || full === undefined) return [];
    return [{ tid: Number(tid), time: Number(time), version, full, bytes: Number(bytes) || 0 }];
  });
  return rows.sort((a, b) => a.tid - b.tid || a.time - b.time).map(({ version, full, bytes }) => ({ version, full, bytes }));
}

const ours = ["platform-ent", "platform-ent-updater"] as const;

/** How the package manager reinstalls the files of the installed version. */
type Reinstall = (name: string, version: string) => Promise<{ readonly file: string; readonly args: readonly string[] }>;

/**
 * Repairs the results of a kill in the middle of an rpm transaction: a broken database, two entries of one package, half-written files, files of a
 * version that the database does not have (checked only after an interruption: it reads all of them).
 */
export async function healRpmHost(run: RunOnHost, reinstall: Reinstall): Promise<"clean" | "healed"> {
  const name = await interrupted();
  let healed = await healRpm([...new Set(name === undefined ? ours : [...ours, name])], run);
  if (name !== undefined) {
    healed = (await removeLeftovers(name, run)) || healed;
    healed = (await restore(name, run, reinstall)) || healed;
  }
  await clearMark();
  return healed ? "healed" : "clean";
}

async function restore(name: string, run: RunOnHost, reinstall: Reinstall): Promise<boolean> {
  const found = await findRpm(name, run);
  if (found === undefined || !(await isDamaged(name, run))) return false;
  const { version } = found;
  const what = `could not restore the files of ${name} ${version}`;
  const path = await keptPackage({ name, version, type: "rpm" });
  const command = path === undefined ? await reinstall(name, version) : { file: "rpm", args: ["-U", "--oldpackage", "--replacepkgs", path] };
  await run({ ...command, step: "install", what });
  return true;
}

/** Name of rpm's temporary file beside the real one, with the start of the transaction in seconds: `/usr/bin/platform;6b01e19b`. */
const mark = /;[0-9a-f]{8}$/;

/**
 * Removes temporary files of an interrupted transaction beside a package's files. rpm never does: they are as big as the package, and a transaction
 * that begins in the same second fails because of them. True if there were any.
 */
export async function removeLeftovers(name: string, run: RunOnHost): Promise<boolean> {
  const { stdout } = await run({ file: "rpm", args: ["-ql", name], step: "other", what: `could not list the files of ${name}`, ok: [0, 1] });
  const places = new Set(stdout.split("\n").filter((line) => line.startsWith("/")));
  let found = false;
  for (const folder of new Set([...places].map((place) => dirname(place)))) {
    for (const left of await leftIn(folder, places)) {
      await rm(left, { force: true });
      found = true;
    }
  }
  return found;
}

async function leftIn(folder: string, places: ReadonlySet<string>): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => !entry.isDirectory() && mark.test(entry.name) && places.has(join(folder, basename(entry.name).replace(mark, ""))))
    .map(({ name }) => join(folder, name));
}

/** Makes rpm's database readable again, and removes the older of two entries of a package. True if it changed anything. */
async function healRpm(names: readonly string[], run: RunOnHost): Promise<boolean> {
  let healed = await rebuildIfBroken(run);
  for (const name of names) {
    for (const { full } of (await entriesOf(name, run)).slice(0, -1)) {
      const what = `could not remove the remains of ${full}`;
      // rpm leaves files alone that the newer entry has too.
      await run({ file: "rpm", args: ["-e", "--nodeps", full], step: "install", what });
      healed = true;
    }
  }
  return healed;
}

async function rebuildIfBroken(run: RunOnHost): Promise<boolean> {
  const what = "could not read rpm's database";
  const { status } = await run({ file: "rpm", args: ["-qa", "--qf", ""], step: "other", what, ok: [0, 1, 2, 254, 255] });
  if (status === 0) return false;
  for (const file of ["__db.001", "__db.002", "__db.003"]) await rm(`/var/lib/rpm/${file}`, { force: true });
  await run({ file: "rpm", args: ["--rebuilddb"], step: "install", what: "could not rebuild rpm's database" });
  return true;
}

/** Whether files of the package differ from its entry; configuration belongs to the admin and is ignored. */
async function isDamaged(name: string, run: RunOnHost): Promise<boolean> {
  const args = ["-V", "--noscripts", "--nodeps", "--nomtime", "--nomode", "--nouser", "--nogroup", "--nordev", "--nocaps", name];
  const { stdout, status } = await run({ file: "rpm", args, step: "other", what: `could not check the files of ${name}`, ok: [0, 1] });
  return status !== 0 && hasDamage(stdout);
}

/** `S.5......    /usr/bin/platform`, `missing     /usr/lib/…`; `c`, `d`, `g` before a path: configuration, documentation, ghost. */
export function hasDamage(verified: string): boolean {
  return verified.split("\n").some((line) => /^(missing|[.?SM5DLUGTP]{8,})\s+\//.test(line));
}
