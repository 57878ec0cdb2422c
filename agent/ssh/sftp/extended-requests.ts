import { createHash } from "node:crypto";
import {
  chmodSync,
  closeSync,
  constants,
  fsyncSync,
  lchownSync,
  linkSync,
  lstatSync,
  lutimesSync,
  openSync,
  readSync,
  renameSync,
  statfsSync,
  writeSync,
} from "node:fs";
import { Reader, string, u64 } from "../../../core/bytes/fields.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { readAttributes } from "../../../core/sftp/attributes.ts";
import { extensionNames, maxPacket, maxTransfer } from "../../../core/sftp/numbers.ts";
import type { RequestOf } from "../../../core/sftp/request.ts";
import { changeAll } from "./change-all.ts";
import { maxHandles } from "./open-handles.ts";
import { realPath } from "./path-requests.ts";
import { done, type Reply, replyName, replyStatus } from "./reply.ts";
import type { SftpContext } from "./sftp-context.ts";

type Handle = (context: SftpContext, reader: Reader) => Reply;

/** Extensions by name, with their announced versions. */
const extensions: Readonly<Record<string, readonly [version: string, handle: Handle]>> = {
  [extensionNames.posixRename]: ["1", posixRename],
  [extensionNames.statvfs]: ["2", (_, reader) => statvfs(reader.string())],
  [extensionNames.fstatvfs]: ["2", ({ handles }, reader) => statvfs(Buffer.from(`/proc/self/fd/${handles.file(reader.string()).fd}`))],
  [extensionNames.hardlink]: ["1", hardlink],
  [extensionNames.fsync]: ["1", fsync],
  [extensionNames.lsetstat]: ["1", lsetstat],
  [extensionNames.limits]: ["1", limits],
  [extensionNames.expandPath]: ["1", expandPath],
  [extensionNames.copyData]: ["1", copyData],
  [extensionNames.homeDirectory]: ["1", homeDirectory],
  [extensionNames.namesById]: ["1", namesById],
  [extensionNames.sha256]: ["1", sha256],
};

/** Extensions in the `version` message. */
export const announced: ReadonlyMap<string, string> = new Map(Object.entries(extensions).map(([name, [version]]) => [name, version]));

export function extended(context: SftpContext, { name, data }: RequestOf<"extended">): Reply {
  const found = Object.hasOwn(extensions, name) ? extensions[name] : undefined;
  return found === undefined ? replyStatus("unsupported", "Operation unsupported") : found[1](context, new Reader(data));
}

function posixRename({ reporter }: SftpContext, reader: Reader): Reply {
  const path = reader.string();
  const target = reader.string();
  return reporter.tell({ action: "rename", path, target }, () => {
    renameSync(path, target);
    return done;
  });
}

function hardlink({ reporter }: SftpContext, reader: Reader): Reply {
  const path = reader.string();
  const target = reader.string();
  return reporter.tell({ action: "link", path, target }, () => {
    linkSync(path, target);
    return done;
  });
}

/** Changes the link itself. Linux has no permissions on links. */
function lsetstat({ reporter }: SftpContext, reader: Reader): Reply {
  const path = reader.string();
  const attributes = readAttributes(reader);
  return reporter.tell({ action: "setstat", path }, () =>
    changeAll(attributes, {
      mode: (mode) => chmodNoFollow(path, mode),
      times: (accessed, modified) => lutimesSync(path, accessed, modified),
      owner: (uid, gid) => lchownSync(path, uid, gid),
    }),
  );
}

/** O_PATH, for which Node has no name (x86 and arm64). */
const onlyPath = 0o10_000_000;

function chmodNoFollow(path: Buffer, mode: number): void {
  if (lstatSync(path).isSymbolicLink()) throw new PlatformError("limit", "Operation not supported");
  const fd = openSync(path, onlyPath | constants.O_NOFOLLOW);
  try {
    chmodSync(`/proc/self/fd/${fd}`, mode);
  } finally {
    closeSync(fd);
  }
}

/* f_bsize, f_frsize, f_blocks, f_bfree, f_bavail, f_files, f_ffree, f_favail, f_fsid, f_flag, f_namemax: each u64. */
function statvfs(path: Buffer): Reply {
  const found = statfsSync(path, { bigint: true });
  const longestName = 255n;
  const numbers = [found.bsize, found.bsize, found.blocks, found.bfree, found.bavail, found.files, found.ffree, found.ffree, 0n, 0n, longestName];
  return { type: "extended_reply", data: Buffer.concat(numbers.map((number) => u64(BigInt.asUintN(64, number)))) };
}

function limits(): Reply {
  return { type: "extended_reply", data: Buffer.concat([maxPacket, maxTransfer, maxTransfer, maxHandles].map(u64)) };
}

/** `~` and `~user` at the start; other paths are relative to the home, where the session began. */
function expandPath({ names, home }: SftpContext, reader: Reader): Reply {
  const path = reader.string();
  const tilde = /^~([^/]*)/.exec(path.toString("latin1"));
  if (tilde === null) return replyName(realPath(path.length === 0 ? Buffer.from(".") : path));
  const user = Buffer.from(tilde[1] as string, "latin1").toString();
  const folder = user === "" ? home : names.home(user);
  if (folder === undefined) throw new PlatformError("not_found", `No such user: ${user}`);
  return replyName(realPath(Buffer.concat([Buffer.from(folder), path.subarray(tilde[0].length)])));
}

function homeDirectory({ names, home }: SftpContext, reader: Reader): Reply {
  const user = reader.string().toString();
  const folder = user === "" ? home : names.home(user);
  if (folder === undefined) throw new PlatformError("not_found", `No such user: ${user}`);
  return replyName(Buffer.from(folder));
}

function namesById({ names }: SftpContext, reader: Reader): Reply {
  const namesOf = (ids: Buffer, name: (id: number) => string | undefined): Buffer => {
    const list = new Reader(ids);
    const parts: Buffer[] = [];
    while (!list.done) parts.push(string(name(list.u32()) ?? ""));
    return string(Buffer.concat(parts));
  };
  const users = namesOf(reader.string(), (id) => names.user(id));
  return { type: "extended_reply", data: Buffer.concat([users, namesOf(reader.string(), (id) => names.group(id))]) };
}

function fsync({ handles }: SftpContext, reader: Reader): Reply {
  fsyncSync(handles.file(reader.string()).fd);
  return done;
}

const piece = Buffer.allocUnsafe(maxTransfer);

/** Copies from one open file to another, or within the same; a length of 0 means up to the end. */
function copyData({ handles }: SftpContext, reader: Reader): Reply {
  const from = handles.file(reader.string());
  let source = reader.u64();
  let left = reader.u64();
  const to = handles.file(reader.string());
  let target = reader.u64();
  const mostLeft = left === 0n ? BigInt(Number.MAX_SAFE_INTEGER) : left;
  if (from.fd === to.fd && source < target + mostLeft && target < source + mostLeft) throw new PlatformError("limit", "The ranges overlap");
  if (target + mostLeft > Number.MAX_SAFE_INTEGER && left !== 0n) throw new PlatformError("limit", "File too large");
  for (left = mostLeft; left > 0n; ) {
    const count = readSync(from.fd, piece, 0, left < piece.length ? Number(left) : piece.length, source);
    if (count === 0) break;
    for (let written = 0; written < count; )
      written += writeSync(to.fd, piece, written, count - written, to.appends ? null : Number(target) + written);
    from.bytesRead += count;
    to.bytesWritten += count;
    source += BigInt(count);
    target += BigInt(count);
    left -= BigInt(count);
  }
  return done;
}

/** Our own extension: SHA-256 of a part of an open file, and the number of bytes in it up to the file's end. `tsh scp` resumes by it. */
function sha256({ handles }: SftpContext, reader: Reader): Reply {
  const { fd } = handles.file(reader.string());
  let offset = reader.u64();
  const wanted = reader.u64();
  const hash = createHash("sha256");
  let left = wanted;
  while (left > 0n) {
    const count = readSync(fd, piece, 0, left < piece.length ? Number(left) : piece.length, offset);
    if (count === 0) break;
    hash.update(piece.subarray(0, count));
    offset += BigInt(count);
    left -= BigInt(count);
  }
  return { type: "extended_reply", data: Buffer.concat([string(hash.digest()), u64(wanted - left)]) };
}
