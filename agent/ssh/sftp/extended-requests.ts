import { chmodSync, closeSync, constants, lchownSync, linkSync, lstatSync, lutimesSync, openSync, renameSync, statfsSync } from "node:fs";
import { Reader } from "../../../core/bytes/reader.ts";
import { u64 } from "../../../core/bytes/writer.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { readAttributes } from "../../../core/sftp/attributes.ts";
import { extensionNames, maxPacket, maxTransfer } from "../../../core/sftp/numbers.ts";
import type { RequestOf } from "../../../core/sftp/request.ts";
import { changeAll } from "./change-all.ts";
import { copyData, fsync, sha256 } from "./extended-data.ts";
import { expandPath, homeDirectory, namesById } from "./extended-names.ts";
import { maxHandles } from "./open-handles.ts";
import { done, type Reply, replyStatus } from "./reply.ts";
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
