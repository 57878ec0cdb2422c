import { existsSync } from "node:fs";
import { repositoryFile, type Zypp } from "./zypp.ts";
import { parseLocks, parseSearch } from "./zypper-tables.ts";

/** A sentence that names the admin's lock (`zypper addlock`) on the package. */
export async function zypperHold(name: string, zypp: Zypp): Promise<string | undefined> {
  if (!existsSync(repositoryFile)) return undefined;
  const what = "could not read the locks of zypper";
  const args = ["search", "--details", "--match-exact", "--type", "package", name];
  // 104: nothing found; 106: our repository is unread. zypper itself matches its locks, which may be patterns.
  const found = await zypp.run({ args, step: "other", what, ok: [0, 104, 106] });
  if (!parseSearch(found.stdout).some((row) => row.name === name && row.locked)) return undefined;
  const locks = parseLocks((await zypp.run({ args: ["locks"], xml: true, step: "other", what })).stdout);
  const lock = locks.find((one) => one === name) ?? (locks.length === 1 ? locks[0] : undefined);
  if (lock === undefined)
    return `${name} is locked on this host by one of the locks of zypper: "zypper locks" lists them, "zypper removelock" lifts one`;
  return `${name} is locked on this host by the lock ${lock} of zypper; "zypper removelock '${lock}'" lifts it`;
}
