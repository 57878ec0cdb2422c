import { createHash } from "node:crypto";
import { fsyncSync, readSync, writeSync } from "node:fs";
import type { Reader } from "../../../core/bytes/reader.ts";
import { string, u64 } from "../../../core/bytes/writer.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { maxTransfer } from "../../../core/sftp/numbers.ts";
import { done, type Reply } from "./reply.ts";
import type { SftpContext } from "./sftp-context.ts";

export function fsync({ handles }: SftpContext, reader: Reader): Reply {
  fsyncSync(handles.file(reader.string()).fd);
  return done;
}

const piece = Buffer.allocUnsafe(maxTransfer);

/** Copies from one open file to another, or within the same; a length of 0 means up to the end. */
export function copyData({ handles }: SftpContext, reader: Reader): Reply {
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
export function sha256({ handles }: SftpContext, reader: Reader): Reply {
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
