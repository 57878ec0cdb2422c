import { link } from "node:fs/promises";
import { join } from "node:path";
import semver from "semver";
import { type Addition, addVersions, versionOf } from "./add-versions.ts";

const clients = { folder: "client", name: "platform-client" };
/** The newest release under a name that does not change. */
const newest = "platform-client.tgz";

/** Takes over the clients of the publication before and adds new ones; names of those that were not added. */
export async function addClients(addition: Addition): Promise<readonly string[]> {
  const { files, left } = await addVersions(addition, clients);
  const target = join(addition.fresh, clients.folder);
  const version = (file: string): string => versionOf(file, clients.name);
  const [last] = files.filter((file) => semver.prerelease(version(file)) === null).sort((a, b) => semver.rcompare(version(a), version(b)));
  if (last !== undefined) await link(join(target, last), join(target, newest));
  return left;
}
