import { PlatformError } from "../../../core/errors/platform-error.ts";

export interface TarEntry {
  /** Relative to the folder that the archive is unpacked in, at most 255 bytes; a folder's ends in a slash. */
  readonly path: string;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** Bytes; 0 for a folder. */
  readonly size: number;
  /** Unix seconds. */
  readonly mtime: number;
}

const block = 512;

/**
 * Header of one entry, as POSIX.1-1988 (ustar) has it: 512 bytes, numbers in octal text.
 *
 *     0 name 100 | 100 mode 8 | 108 uid 8 | 116 gid 8 | 124 size 12 | 136 mtime 12 | 148 checksum 8 | 156 type 1 | 157 link 100
 *     257 "ustar\0" 6 | 263 "00" 2 | 265 user 32 | 297 group 32 | 329 major 8 | 337 minor 8 | 345 prefix 155 | 500 padding
 *
 * A number too large for octal is big-endian with the first bit set, which GNU and BSD tar read too.
 * Throws `unsupported` for a path that does not fit.
 */
export function tarHeader(entry: TarEntry): Buffer {
  const header = Buffer.alloc(block);
  const { prefix, name } = splitPath(entry.path);
  header.write(name, 0);
  number(header, { at: 100, length: 8 }, entry.mode & 0o7777);
  number(header, { at: 108, length: 8 }, entry.uid);
  number(header, { at: 116, length: 8 }, entry.gid);
  number(header, { at: 124, length: 12 }, entry.size);
  number(header, { at: 136, length: 12 }, Math.max(0, Math.floor(entry.mtime)));
  header.write("        ", 148);
  header.write(entry.path.endsWith("/") ? "5" : "0", 156);
  header.write("ustar\u000000", 257);
  header.write(prefix, 345);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return header;
}

/** Padding of an entry's last block. */
export function tarPadding(size: number): Buffer {
  return Buffer.alloc((block - (size % block)) % block);
}

/** Two empty blocks. */
export const tarEnd = Buffer.alloc(2 * block);

/** The name holds 100 bytes, the part before one of its slashes 155 more. */
function splitPath(path: string): { readonly prefix: string; readonly name: string } {
  if (Buffer.byteLength(path) <= 100) return { prefix: "", name: path };
  for (let slash = path.indexOf("/"); slash > 0; slash = path.indexOf("/", slash + 1)) {
    const [prefix, name] = [path.slice(0, slash), path.slice(slash + 1)];
    if (name !== "" && Buffer.byteLength(name) <= 100 && Buffer.byteLength(prefix) <= 155) return { prefix, name };
  }
  throw new PlatformError("unsupported", `${path} is too long for the archive`, { hint: "choose a shorter data_dir" });
}

function number(header: Buffer, { at, length }: { at: number; length: 8 | 12 }, value: number): void {
  const octal = value.toString(8);
  if (octal.length < length) {
    header.write(octal.padStart(length - 1, "0"), at);
    return;
  }
  header.writeBigUInt64BE(BigInt(value), at + length - 8);
  header[at] = (header[at] ?? 0) | 0x80;
}
