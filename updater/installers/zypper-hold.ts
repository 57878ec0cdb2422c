import { existsSync } from "node:fs";
import { repositoryFile, type Zypp } from "./zypp.ts";
import { parseLocks, parseSearch } from "./zypper-tables.ts";

/** A sentence that names the lock (`zypper addlock`) which the admin has set on the package. */
export async function zypperHold(name: string, zypp: Zypp): Promise<string | undefined> {
  if (!existsSync(repositoryFile)) return undefined;
  const what = "the locks of zypper could not be read";
  const args = ["search", "--details", "--match-exact", "--type", "package", name];
  // 104: nothing found; 106: our repository was not read yet. zypper itself matches its locks, which may be patterns.
  const found = await zypp.run({ args, step: "other", what, ok: [0, 104, 106] });
  if (!parseSearch(found.stdout).some((row) => row.name === name && row.locked)) return undefined;
  const locks = parseLocks((await zypp.run({ args: ["locks"], xml: true, step: "other", what })).stdout);
  const lock = locks.find((one) => one === name) ?? (locks.length === 1 ? locks[0] : undefined);
  if (lock === undefined)
    return `${name} is locked on this host by one of the locks of zypper: "zypper locks" lists them, "zypper removelock" lifts one`;
  return `${name} is locked on this host by the lock ${lock} of zypper; "zypper removelock '${lock}'" lifts it`;
}
