import { type Reader, u32, u64 } from "../bytes/fields.ts";
import { PlatformError } from "../errors/platform-error.ts";

/** Known attributes of a file, or changes to them; all are optional. */
export interface Attributes {
  readonly size?: bigint;
  readonly owner?: { readonly uid: number; readonly gid: number };
  /** st_mode: permissions, and the kind of file if the server sends it. */
  readonly mode?: number;
  /** Seconds since 1970. */
  readonly times?: { readonly accessed: number; readonly modified: number };
}

const has = { size: 0x1, owner: 0x2, mode: 0x4, times: 0x8, extended: 0x8000_0000 } as const;
/** Maximum extended pairs of one file; no known peer uses any. */
const maxExtended = 16;

/*
 *  u32 flags | u64 size | u32 uid, u32 gid | u32 mode | u32 atime, u32 mtime | u32 count, count × (string type, string data)
 *  Each group is present if its flag is set. Extended pairs are skipped.
 */
export function readAttributes(reader: Reader): Attributes {
  const flags = reader.u32();
  const attributes: Attributes = {
    ...((flags & has.size) !== 0 && { size: reader.u64() }),
    ...((flags & has.owner) !== 0 && { owner: { uid: reader.u32(), gid: reader.u32() } }),
    ...((flags & has.mode) !== 0 && { mode: reader.u32() }),
    ...((flags & has.times) !== 0 && { times: { accessed: reader.u32(), modified: reader.u32() } }),
  };
  if ((flags & has.extended) === 0) return attributes;
  const count = reader.u32();
  if (count > maxExtended) throw new PlatformError("invalid", `a file with ${count} extended attributes; ${maxExtended} are allowed`);
  for (let index = 0; index < count; index += 1) {
    reader.string();
    reader.string();
  }
  return attributes;
}

export function writeAttributes({ size, owner, mode, times }: Attributes): Buffer {
  const flags =
    (size === undefined ? 0 : has.size) |
    (owner === undefined ? 0 : has.owner) |
    (mode === undefined ? 0 : has.mode) |
    (times === undefined ? 0 : has.times);
  const parts = [u32(flags)];
  if (size !== undefined) parts.push(u64(size));
  if (owner !== undefined) parts.push(u32(owner.uid), u32(owner.gid));
  if (mode !== undefined) parts.push(u32(mode));
  if (times !== undefined) parts.push(u32(times.accessed), u32(times.modified));
  return Buffer.concat(parts);
}

/** Kinds of file in `mode`. */
export const fileKinds = { mask: 0o170_000, folder: 0o040_000, regular: 0o100_000, link: 0o120_000 } as const;

export function kindOf({ mode }: Attributes): "regular" | "folder" | "link" | "special" | "unknown" {
  if (mode === undefined || (mode & fileKinds.mask) === 0) return "unknown";
  const kind = mode & fileKinds.mask;
  if (kind === fileKinds.folder) return "folder";
  if (kind === fileKinds.link) return "link";
  return kind === fileKinds.regular ? "regular" : "special";
}
