import { z } from "zod";

/** A file of the Web UI, in the two forms in which browsers take it. */
export interface UiFile {
  readonly type: string;
  readonly etag: string;
  readonly brotli: Buffer;
  readonly gzip: Buffer;
}

const range = z.tuple([z.int().min(0), z.int().min(0)]);
const indexSchema = z.array(z.object({ name: z.string(), type: z.string(), etag: z.string(), brotli: range, gzip: range }));

/**
 * The files of an archive by their names (scripts/build/web-ui.ts makes it). Their bytes are views of the archive, not copies. Throws Error for one that is cut
 * off or has another layout: then the build is wrong.
 *
 *     +--------------------+----------------------+------------------------+
 *     | index length, u32  | index: JSON          | bytes of the files …   |
 *     +--------------------+----------------------+------------------------+
 */
export function readArchive(archive: Buffer): ReadonlyMap<string, UiFile> {
  if (archive.length < 4) throw new Error("the archive of the Web UI is cut off");
  const begin = 4 + archive.readUInt32BE(0);
  if (begin > archive.length) throw new Error("the archive of the Web UI is cut off in its index");
  const index = indexSchema.parse(JSON.parse(archive.toString("utf8", 4, begin)));
  const bytes = archive.subarray(begin);
  const slice = ([from, to]: readonly [number, number]): Buffer => {
    if (from > to || to > bytes.length) throw new Error("the archive of the Web UI is cut off in its files");
    return bytes.subarray(from, to);
  };
  return new Map(index.map(({ name, type, etag, brotli, gzip }) => [name, { type, etag, brotli: slice(brotli), gzip: slice(gzip) }]));
}
