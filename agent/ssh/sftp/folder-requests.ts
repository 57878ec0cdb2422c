import { type Dir, lstatSync, opendirSync, type Stats } from "node:fs";
import type { OfHandle, OfPath } from "../../../core/sftp/request.ts";
import type { NamedFile } from "../../../core/sftp/response.ts";
import { longName } from "./long-name.ts";
import type { OpenFolder } from "./open-handles.ts";
import { attributesOf, endOfFile, type Reply } from "./reply.ts";
import type { SftpContext } from "./sftp-context.ts";

/** Maximum names in one answer: with the longest names (255 bytes, twice) they still fit one packet. */
const batch = 256;
const slash = Buffer.from("/");

export function opendir({ handles }: SftpContext, { path }: OfPath): Reply {
  handles.reserve();
  // Node's types declare only strings; it accepts and returns bytes too.
  const folder = opendirSync(path as never, { encoding: "buffer" as never, bufferSize: batch });
  const pending = [Buffer.from("."), Buffer.from("..")];
  return { type: "handle", handle: handles.add({ kind: "folder", folder, path: Buffer.from(path), pending }) };
}

export function readdir(context: SftpContext, { handle }: OfHandle): Reply {
  const entry = context.handles.folder(handle);
  const shown = { names: context.names, now: context.now() };
  const files: NamedFile[] = [];
  for (const name of nextNames(entry)) {
    const stats = look(Buffer.concat([entry.path, slash, name]));
    // Removed since it was listed.
    if (stats !== undefined) files.push({ name, longName: longName(name, stats, shown), attributes: attributesOf(stats) });
  }
  // An empty batch is not the end.
  if (files.length === 0) return entry.pending.length === 0 && isAtEnd(entry) ? endOfFile : readdir(context, { handle });
  return { type: "name", files };
}

function* nextNames(entry: OpenFolder): Generator<Buffer> {
  const { pending } = entry;
  entry.pending = [];
  yield* pending;
  for (let count = pending.length; count < batch; count += 1) {
    const name = readName(entry.folder);
    if (name === undefined) return;
    yield name;
  }
}

function isAtEnd(entry: OpenFolder): boolean {
  const name = readName(entry.folder);
  if (name !== undefined) entry.pending = [name];
  return name === undefined;
}

function readName(folder: Dir): Buffer | undefined {
  const name: unknown = folder.readSync()?.name;
  return Buffer.isBuffer(name) ? name : undefined;
}

function look(path: Buffer): Stats | undefined {
  try {
    return lstatSync(path);
  } catch {
    return undefined;
  }
}
