import { constants, fchmodSync, fchownSync, fstatSync, ftruncateSync, futimesSync, openSync, readSync, writeSync } from "node:fs";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { maxTransfer, openFlags } from "../../../core/sftp/numbers.ts";
import type { OfHandle, RequestOf } from "../../../core/sftp/request.ts";
import { changeAll } from "./change-all.ts";
import { attributesOf, done, endOfFile, type Reply } from "./reply.ts";
import type { SftpContext } from "./sftp-context.ts";

/** The bytes read, until they are copied into the output. */
const scratch = Buffer.allocUnsafe(maxTransfer);
const mostOffset = 2n ** 63n;

export function open({ handles, reporter }: SftpContext, { path, flags, attributes }: RequestOf<"open">): Reply {
  const words = flagWords(flags);
  return reporter.tell({ action: "open", path, flags: words }, () => {
    handles.reserve();
    const fd = openSync(path, systemFlags(flags), (attributes.mode ?? 0o666) & 0o7777);
    const appends = (flags & openFlags.append) !== 0;
    return { type: "handle", handle: handles.add({ kind: "file", fd, path: Buffer.from(path), appends, bytesRead: 0, bytesWritten: 0 }) };
  });
}

function systemFlags(flags: number): number {
  const has = (flag: keyof typeof openFlags): boolean => (flags & openFlags[flag]) !== 0;
  const access = has("read") ? (has("write") ? constants.O_RDWR : constants.O_RDONLY) : has("write") ? constants.O_WRONLY : constants.O_RDONLY;
  return (
    access |
    (has("append") ? constants.O_APPEND : 0) |
    (has("create") ? constants.O_CREAT : 0) |
    (has("truncate") ? constants.O_TRUNC : 0) |
    (has("exclusive") ? constants.O_EXCL : 0) |
    constants.O_NOCTTY
  );
}

function flagWords(flags: number): string {
  const words = Object.entries(openFlags).flatMap(([word, bit]) => ((flags & bit) === 0 ? [] : [word]));
  return words.join(",");
}

export function close({ handles, reporter }: SftpContext, { handle }: OfHandle): Reply {
  const entry = handles.close(handle);
  if (entry.kind === "file") reporter.closed(entry);
  return done;
}

export function read({ handles }: SftpContext, { handle, offset, length }: RequestOf<"read">): Reply {
  const file = handles.file(handle);
  if (offset >= mostOffset) throw new PlatformError("invalid", "Offset out of range");
  const count = readSync(file.fd, scratch, 0, Math.min(length, maxTransfer), offset);
  if (count === 0) return endOfFile;
  file.bytesRead += count;
  return { type: "data", data: scratch.subarray(0, count) };
}

export function write({ handles }: SftpContext, { handle, offset, data }: RequestOf<"write">): Reply {
  const file = handles.file(handle);
  if (offset > Number.MAX_SAFE_INTEGER) throw new PlatformError("invalid", "File too large");
  let written = 0;
  // A full disk gives a short write first, and its error at the next.
  while (written < data.length) {
    const count = writeSync(file.fd, data, written, data.length - written, file.appends ? null : Number(offset) + written);
    written += count;
    file.bytesWritten += count;
  }
  return done;
}

export function fstat({ handles }: SftpContext, { handle }: OfHandle): Reply {
  return { type: "attributes", attributes: attributesOf(fstatSync(handles.file(handle).fd)) };
}

export function fsetstat({ handles, reporter }: SftpContext, { handle, attributes }: RequestOf<"fsetstat">): Reply {
  const { fd, path } = handles.file(handle);
  return reporter.tell({ action: "setstat", path }, () =>
    changeAll(attributes, {
      size: (size) => ftruncateSync(fd, size),
      mode: (mode) => fchmodSync(fd, mode),
      times: (accessed, modified) => futimesSync(fd, accessed, modified),
      owner: (uid, gid) => fchownSync(fd, uid, gid),
    }),
  );
}
