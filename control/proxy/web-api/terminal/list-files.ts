import type { Folder, FolderEntry } from "../../../../core/api/web/files.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { type Attributes, kindOf } from "../../../../core/sftp/attributes.ts";
import type { NamedFile } from "../../../../core/sftp/response.ts";
import { listFolder, statPath } from "../../../../core/sftp-client/sftp-calls.ts";
import { inside, isRoot, parentOf } from "./host-path.ts";
import { type AskedPath, type HostFiles, wholePath } from "./open-files.ts";

/**
 * Most entries of a listing, most names that are read for it, and most bytes of them: the first ones by name are shown of a folder that has no more. The bytes are
 * enough for as many names of any file system of Linux.
 */
const [mostEntries, mostRead, mostBytes] = [2_000, 20_000, 8 * 1024 * 1024] as const;

/** What an entry takes up beside its name, bytes, roughly. */
const entryBytes = 512;
/** Most links that are followed at a time: each request repeats the path of the folder. */
const linksAtOnce = 256;

/** A folder of a host. `hold` is called with bytes before they are kept. Throws `conflict` for what is not a folder, the host's refusal, and what `hold` throws. */
export async function listFiles(files: HostFiles, asked: AskedPath, hold: (bytes: number) => void): Promise<Folder> {
  const { client } = files;
  const whole = await wholePath(files, asked);
  const there = await statPath(client, whole);
  if (there === undefined) throw new PlatformError("not_found", "No such file or directory");
  if (kindOf(there) !== "folder") throw new PlatformError("conflict", "it is not a folder");
  const read: Named[] = [];
  let [isCut, bytes] = [false, 0];
  for await (const { name, attributes } of listFolder(client, whole)) {
    bytes += name.length;
    isCut = read.length === mostRead || bytes > mostBytes;
    if (isCut) break;
    hold(name.length + entryBytes);
    // A copy: as it comes it is a view of the host's whole answer.
    read.push({ name: Buffer.from(name), attributes });
  }
  await follow(files, whole, read);
  const named = read.toSorted(byName);
  const [folders, others] = [named.filter(isFolder), named.filter((one) => !isFolder(one))];
  // The paths of those that are not shown would take up far more than their names.
  const entries = [...folders, ...others].slice(0, mostEntries).map(({ name, attributes }) => {
    const path = inside(whole, name);
    hold(2 * path.length);
    return entryOf(name, path, attributes);
  });
  return {
    path: whole.toString("utf8"),
    bytes: whole.toString("base64url"),
    ...(!isRoot(whole) && { parent: parentOf(whole).toString("base64url") }),
    entries,
    isCut: isCut || read.length > mostEntries,
  };
}

interface Named extends Pick<NamedFile, "name"> {
  /** Of a link: those of what it leads to, once it was followed. */
  attributes: Attributes;
}

function byName({ name: one }: Named, { name: other }: Named): number {
  return Buffer.compare(one, other);
}

function isFolder({ attributes }: Named): boolean {
  return kindOf(attributes) === "folder";
}

async function follow(files: HostFiles, whole: Buffer, all: readonly Named[]): Promise<void> {
  const links = all.filter(({ attributes }) => kindOf(attributes) === "link").values();
  const someOfThem = async (): Promise<void> => {
    for (const link of links) link.attributes = await target(files, inside(whole, link.name));
  };
  await Promise.all(Array.from({ length: linksAtOnce }, someOfThem));
}

/** What a link leads to; nothing, where it leads nowhere or out of the user's reach. */
async function target({ client }: HostFiles, path: Buffer): Promise<Attributes> {
  return (await statPath(client, path).catch(refused)) ?? {};
}

function refused(thrown: unknown): undefined {
  if (thrown instanceof PlatformError && thrown.code !== "unavailable") return undefined;
  throw thrown;
}

const kinds: Partial<Record<ReturnType<typeof kindOf>, FolderEntry["kind"]>> = { folder: "folder", regular: "file" };

function entryOf(name: Buffer, path: Buffer, attributes: Attributes): FolderEntry {
  const { size = 0n, times } = attributes;
  return {
    name: name.toString("utf8"),
    bytes: path.toString("base64url"),
    kind: kinds[kindOf(attributes)] ?? "other",
    size: Math.min(Number(size), Number.MAX_SAFE_INTEGER),
    ...(times !== undefined && { modified: new Date(times.modified * 1000).toISOString() }),
  };
}
