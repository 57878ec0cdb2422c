import { existsSync } from "node:fs";
import { type Dnf, onlyOurs, repositoryFile } from "./dnf.ts";
import { findVersionLock, parseRows, rowFormat } from "./yum-tables.ts";

/** A sentence that names the admin's versionlock, or exclude that hides the package. */
export async function yumHold(name: string, dnf: Dnf): Promise<string | undefined> {
  const lock = await versionLock(name, dnf);
  if (lock !== undefined) {
    return `${name} is locked on this host by the entry ${lock} of dnf versionlock; "dnf versionlock delete '${lock}'" lifts it`;
  }
  if (!existsSync(repositoryFile)) return undefined;
  // Both without the network; an unread repository shows nothing.
  if ((await visible(name, dnf, [])) > 0 || (await visible(name, dnf, ["--disableexcludes=all"])) === 0) return undefined;
  return `${name} is excluded on this host by an exclude= of /etc/dnf/dnf.conf; it moves again when that is removed`;
}

async function versionLock(name: string, { run, file }: Dnf): Promise<string | undefined> {
  const args = ["-q", "-C", "--disablerepo=*", "versionlock", "list"];
  // 1: dnf has no such plugin.
  const asked = await run({ file, args, step: "other", what: "could not read the version locks of dnf", ok: [0, 1] });
  return asked.status === 0 ? findVersionLock(asked.stdout, name) : undefined;
}

async function visible(name: string, { run, file }: Dnf, options: readonly string[]): Promise<number> {
  const args = [...onlyOurs(), "-q", "-C", ...options, "repoquery", "--qf", rowFormat, name];
  const asked = await run({ file, args, step: "other", what: "could not read the repository's index", ok: [0, 1] });
  return asked.status === 0 ? parseRows(asked.stdout, name).length : 0;
}
