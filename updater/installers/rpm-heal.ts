import type { RunOnHost } from "./host-command.ts";
import { keptPackage } from "./kept-packages.ts";
import { findRpm, healRpm, isDamaged } from "./rpm.ts";
import { removeLeftovers } from "./rpm-leftovers.ts";
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
