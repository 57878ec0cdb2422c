import { PlatformError } from "../../core/errors/platform-error.ts";
import { extensionNames } from "../../core/sftp/numbers.ts";
import { expandPath, listOpened, openFolder, statPath } from "../../core/sftp-client/sftp-calls.ts";
import type { SftpClient } from "../../core/sftp-client/sftp-client.ts";
import { matchName } from "../match-name.ts";
import { bytesOf } from "../raw-arguments.ts";

const slash = 0x2f;
/** Maximum number of names that one pattern may match. */
const maxFound = 100_000;

/** Expands a path from the user: `~` at the start, and `*`, `?` and `[…]` unless a file has exactly that name. No match: no names. */
export async function expandRemote(client: SftpClient, text: string): Promise<Buffer[]> {
  const path = await withoutTilde(client, bytesOf(text));
  if (!/[*?[]/.test(text) || (await statPath(client, path)) !== undefined) return [path];
  const start = path.at(0) === slash ? Buffer.from("/") : Buffer.alloc(0);
  let found: Buffer[] = [start];
  for (const part of path.toString("latin1").split("/")) {
    if (part === "") continue;
    const next: Buffer[] = [];
    for (const folder of found) next.push(...(await matching(client, folder, part)));
    if (next.length > maxFound) throw new PlatformError("limit", `${text} matches more than ${maxFound} files`);
    found = next;
  }
  return found;
}

async function withoutTilde(client: SftpClient, path: Buffer): Promise<Buffer> {
  const isTilde = path.at(0) === 0x7e && client.extensions.has(extensionNames.expandPath);
  return isTilde ? await expandPath(client, path) : path;
}

async function matching(client: SftpClient, folder: Buffer, part: string): Promise<Buffer[]> {
  const exact = joinPath(folder, Buffer.from(part, "latin1"));
  if (!/[*?[]/.test(part)) return [exact];
  const handle = await openFolder(client, folder.length === 0 ? Buffer.from(".") : folder).catch(unlessClosedToUs);
  if (handle === undefined) return [];
  const names: Buffer[] = [];
  // A list that breaks off is an error: the names so far are not all.
  for await (const { name } of listOpened(client, handle)) if (matchName(part, name.toString("latin1"))) names.push(name);
  return names.toSorted(Buffer.compare).map((name) => joinPath(folder, name));
}

/** A file where the pattern needs a folder, or a folder without permission, matches nothing, as in a shell. */
function unlessClosedToUs(thrown: unknown): undefined {
  if (thrown instanceof PlatformError && (thrown.code === "not_found" || thrown.code === "denied")) return undefined;
  throw thrown;
}

/** Two parts of a path, as bytes. */
export function joinPath(folder: Buffer, name: Buffer): Buffer {
  if (folder.length === 0) return name;
  return folder.at(-1) === slash ? Buffer.concat([folder, name]) : Buffer.concat([folder, Buffer.of(slash), name]);
}

/** The last part; empty for `/`, `.` and `..`, which stand for their contents. */
export function lastPart(path: Buffer): Buffer {
  let end = path.length;
  while (end > 0 && path[end - 1] === slash) end -= 1;
  const name = path.subarray(path.lastIndexOf(slash, end - 1) + 1, end);
  return end === 0 || name.equals(Buffer.from(".")) || name.equals(Buffer.from("..")) ? Buffer.alloc(0) : name;
}
