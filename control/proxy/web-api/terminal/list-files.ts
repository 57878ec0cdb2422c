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

/** A folder of a host. Throws `conflict` for what is not a folder, and the host's refusal. */
export async function listFiles(files: HostFiles, asked: AskedPath): Promise<Folder> {
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
    // A copy: as it comes it is a view of the host's whole answer.
    read.push({ name: Buffer.from(name), attributes });
  }
  const followed = await Promise.all(
    read.toSorted(byName).map(async ({ name, attributes }) => {
      const path = inside(whole, name);
      return { name, path, attributes: kindOf(attributes) === "link" ? await target(files, path) : attributes };
    }),
  );
  const entries = followed.map(({ name, path, attributes }) => entryOf(name, path, attributes));
  const sorted = [...entries.filter(({ kind }) => kind === "folder"), ...entries.filter(({ kind }) => kind !== "folder")];
  return {
    path: whole.toString("utf8"),
    bytes: whole.toString("base64url"),
    ...(!isRoot(whole) && { parent: parentOf(whole).toString("base64url") }),
    entries: sorted.slice(0, mostEntries),
    isCut: isCut || sorted.length > mostEntries,
  };
}

type Named = Pick<NamedFile, "name" | "attributes">;

function byName({ name: one }: Named, { name: other }: Named): number {
  return Buffer.compare(one, other);
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
