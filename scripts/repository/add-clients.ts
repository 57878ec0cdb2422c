import { copyFile, link, mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import semver from "semver";

export interface ClientsInput {
  readonly fresh: string;
  readonly before: string | undefined;
  /** Folder with `platform-client-<version>.tgz` to add, if any. */
  readonly packages: string | undefined;
  readonly prereleases: boolean;
}

const folder = "client";
/** The newest release under a name that does not change. */
const newest = "platform-client.tgz";

/** Takes over the clients of the publication before and adds new ones; names of those that were not added. */
export async function addClients({ fresh, before, packages, prereleases }: ClientsInput): Promise<readonly string[]> {
  const target = join(fresh, folder);
  await mkdir(target);
  const known = before === undefined ? [] : await clientsIn(join(before, folder));
  for (const name of known) await link(join(before ?? "", folder, name), join(target, name));
  const left: string[] = [];
  for (const name of packages === undefined ? [] : await clientsIn(packages)) {
    const source = join(packages ?? "", name);
    if (known.includes(name)) await refuseAnother(source, join(target, name));
    else if (semver.prerelease(versionOf(name)) === null || prereleases) await copyFile(source, join(target, name));
    else left.push(name);
  }
  const [last] = (await clientsIn(target))
    .filter((name) => semver.prerelease(versionOf(name)) === null)
    .sort((a, b) => semver.rcompare(versionOf(a), versionOf(b)));
  if (last !== undefined) await link(join(target, last), join(target, newest));
  return left;
}

async function clientsIn(path: string): Promise<readonly string[]> {
  const names = await readdir(path).catch((thrown: NodeJS.ErrnoException) => {
    // Publications of versions without clients.
    if (thrown.code === "ENOENT") return [];
    throw thrown;
  });
  return names.filter((name) => semver.valid(versionOf(name)) !== null).sort();
}

function versionOf(name: string): string {
  return /^platform-client-(.+)\.tgz$/.exec(name)?.[1] ?? "";
}

async function refuseAnother(offered: string, published: string): Promise<void> {
  if ((await readFile(offered)).equals(await readFile(published))) return;
  throw new Error(`${offered} is published already with another content; give the new one another version`);
}
