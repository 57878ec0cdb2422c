import { rm } from "node:fs/promises";
import type { RunOnHost } from "./host-command.ts";
import { fromPackageVersion } from "./package-version.ts";

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

/** Makes rpm's database readable again, and removes the older of two entries of a package. True if it changed anything. */
export async function healRpm(names: readonly string[], run: RunOnHost): Promise<boolean> {
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
export async function isDamaged(name: string, run: RunOnHost): Promise<boolean> {
  const args = ["-V", "--noscripts", "--nodeps", "--nomtime", "--nomode", "--nouser", "--nogroup", "--nordev", "--nocaps", name];
  const { stdout, status } = await run({ file: "rpm", args, step: "other", what: `could not check the files of ${name}`, ok: [0, 1] });
  return status !== 0 && hasDamage(stdout);
}

/** `S.5......    /usr/bin/platform`, `missing     /usr/lib/…`; `c`, `d`, `g` before a path: configuration, documentation, ghost. */
export function hasDamage(verified: string): boolean {
  return verified.split("\n").some((line) => /^(missing|[.?SM5DLUGTP]{8,})\s+\//.test(line));
}
