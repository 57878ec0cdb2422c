import { type Dir, lstatSync, opendirSync, type Stats } from "node:fs";
import type { OfHandle, OfPath } from "../../../core/sftp/request.ts";
import type { NamedFile } from "../../../core/sftp/response.ts";
import type { OpenFolder } from "./open-handles.ts";
import { attributesOf, endOfFile, type Reply } from "./reply.ts";
import type { AccountNames, SftpContext } from "./sftp-context.ts";

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

const kinds = new Map([
  [0o140_000, "s"],
  [0o120_000, "l"],
  [0o100_000, "-"],
  [0o060_000, "b"],
  [0o040_000, "d"],
  [0o020_000, "c"],
  [0o010_000, "p"],
]);
const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"] as const;
const halfYearMs = (365 / 2) * 24 * 3_600_000;

/** One line of `ls -l`, as OpenSSH's sftp-server writes it. The name may be any bytes. */
function longName(name: Buffer, stats: Stats, { names, now }: { names: AccountNames; now: number }): Buffer {
  const user = names.user(stats.uid) ?? String(stats.uid);
  const group = names.group(stats.gid) ?? String(stats.gid);
  const columns = [
    `${modeText(stats.mode)} `,
    String(stats.nlink).padStart(3),
    user.padEnd(8),
    group.padEnd(8),
    String(stats.size).padStart(8),
    timeText(stats.mtimeMs, now),
  ];
  return Buffer.concat([Buffer.from(`${columns.join(" ")} `), name]);
}

function modeText(mode: number): string {
  const kind = kinds.get(mode & 0o170_000) ?? "?";
  const three = (bits: number, special: boolean, letter: string): string => {
    const execute = (bits & 1) !== 0;
    const last = special ? (execute ? letter : letter.toUpperCase()) : execute ? "x" : "-";
    return `${(bits & 4) !== 0 ? "r" : "-"}${(bits & 2) !== 0 ? "w" : "-"}${last}`;
  };
  const user = three(mode >> 6, (mode & 0o4000) !== 0, "s");
  const group = three(mode >> 3, (mode & 0o2000) !== 0, "s");
  return `${kind}${user}${group}${three(mode, (mode & 0o1000) !== 0, "t")}`;
}

/** Shows the hour for dates within half a year, else the year. */
function timeText(ms: number, now: number): string {
  const time = new Date(ms);
  if (Number.isNaN(time.getTime())) return "";
  const day = `${months[time.getMonth()] ?? ""} ${String(time.getDate()).padStart(2)}`;
  const two = (value: number): string => String(value).padStart(2, "0");
  const isRecent = now - ms < halfYearMs && ms <= now;
  return isRecent ? `${day} ${two(time.getHours())}:${two(time.getMinutes())}` : `${day}  ${time.getFullYear()}`;
}
