import { readdir, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { RunOnHost } from "./host-command.ts";
import { keptPackage } from "./kept-packages.ts";
import { findRpm, healRpm, isDamaged } from "./rpm.ts";
import { clearMark, interrupted } from "./transaction-mark.ts";

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
