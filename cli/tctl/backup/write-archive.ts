import { createReadStream } from "node:fs";
import { type FileHandle, open, readFile, stat } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { type TarEntry, tarEnd, tarHeader, tarPadding } from "./tar-header.ts";

/** One entry of the archive: at `path` from the root of the file system, with the content of `from` and the owner and mode of `path`. */
export interface ArchiveSource {
  readonly path: string;
  /** Left out: the entry is a folder. */
  readonly from?: string;
}

/** Larger files are streamed: a small one is read at once, since it may change meanwhile. */
const atOnce = 1024 * 1024;

/** Writes a compressed tar archive with paths relative to `/`, 0600, and syncs it to the disk. Links are followed. Returns its size. */
export async function writeArchive(file: string, sources: readonly ArchiveSource[]): Promise<number> {
  await using handle: FileHandle = await open(file, "wx", 0o600);
  await pipeline(Readable.from(blocks(sources)), createGzip({ level: 1 }), async (compressed: AsyncIterable<Buffer>) => {
    // At the handle's position: one after the other.
    for await (const chunk of compressed) await handle.writeFile(chunk);
  });
  await handle.sync();
  return (await handle.stat()).size;
}

async function* blocks(sources: readonly ArchiveSource[]): AsyncGenerator<Buffer> {
  for (const { path, from } of sources) {
    const facts = await stat(path);
    const entry: TarEntry = { path: path.slice(1), mode: facts.mode, uid: facts.uid, gid: facts.gid, size: 0, mtime: facts.mtimeMs / 1000 };
    if (from === undefined) yield tarHeader({ ...entry, path: `${entry.path}/` });
    else yield* content(entry, from);
  }
  yield tarEnd;
}

async function* content(entry: TarEntry, from: string): AsyncGenerator<Buffer> {
  const { size } = await stat(from);
  if (size <= atOnce) {
    const bytes = await readFile(from);
    yield tarHeader({ ...entry, size: bytes.length });
    yield bytes;
    yield tarPadding(bytes.length);
    return;
  }
  yield tarHeader({ ...entry, size });
  let read = 0;
  for await (const chunk of createReadStream(from, { end: size - 1 }) as AsyncIterable<Buffer>) {
    read += chunk.length;
    yield chunk;
  }
  if (read !== size) throw new PlatformError("conflict", `${from} became shorter while it was being read`, { hint: "make the backup again" });
  yield tarPadding(size);
}
