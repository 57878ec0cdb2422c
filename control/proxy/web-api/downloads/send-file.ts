import type { FastifyReply, FastifyRequest } from "fastify";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import type { Log } from "../../../../core/log/log.ts";
import { choosePart, type Part } from "../../packages/choose-part.ts";
import type { DownloadPlaces } from "../../packages/download-places.ts";
import type { PackageFile } from "../../packages/package-file.ts";

/** What all routes that serve repositories share. */
export interface Serving {
  /** Left out: this proxy does not serve packages. */
  readonly packagesDir: string | undefined;
  readonly now: () => Date;
  readonly log: Log;
  readonly places: DownloadPlaces;
}

/** Size of a piece read and held at a time, for each download, bytes. */
const chunkBytes = 131_072;
/** Time without progress after which a client counts as gone, ms. A slow one does not. */
const stalledMs = 300_000;

export interface FileAnswer extends Pick<Serving, "places" | "log"> {
  /** Below the folder, for the log. */
  readonly path: string;
  readonly file: PackageFile;
  readonly type: string;
  /** As in `Cache-Control`. */
  readonly cache: string;
}

/** Answers with a file, or the part of it that was asked for, and closes it. The client has a slot while it downloads. */
export async function sendFile(request: FastifyRequest, reply: FastifyReply, answering: FileAnswer): Promise<FastifyReply> {
  try {
    return await answer(request, reply, answering);
  } catch (thrown) {
    await answering.file.handle.close();
    throw thrown;
  }
}

async function answer(request: FastifyRequest, reply: FastifyReply, answering: FileAnswer): Promise<FastifyReply> {
  const { file, type, cache } = answering;
  const { handle, size, etag } = file;
  const modified = file.modified?.toUTCString();
  const part = choosePart(request.headers, { etag, modified, size });
  const length = lengthOf(part, size);
  const hasBody = length !== undefined && length > 0 && request.method !== "HEAD";
  if (hasBody) await takePlace(request, reply, answering);
  void reply
    .code(part.status)
    .headers({ ETag: etag, "Cache-Control": cache, "Accept-Ranges": "bytes", ...(modified !== undefined && { "Last-Modified": modified }) });
  if (part.status === 416) void reply.header("Content-Range", `bytes */${size}`);
  if (part.status === 206) void reply.header("Content-Range", `bytes ${part.range.start}-${part.range.end}/${size}`);
  if (length !== undefined) void reply.type(type).header("Content-Length", length);
  if (!hasBody) {
    await handle.close();
    return await reply.send();
  }
  // The server's own limit is for requests; Node sets it again for the connection's next one.
  request.raw.socket.setTimeout(stalledMs);
  const start = part.status === 206 ? part.range.start : 0;
  return await reply.send(handle.createReadStream({ start, end: start + length - 1, highWaterMark: chunkBytes }));
}

/** Bytes of the body; undefined: no body. */
function lengthOf(part: Part, size: number): number | undefined {
  if (part.status === 200) return size;
  return part.status === 206 ? part.range.end - part.range.start + 1 : undefined;
}

/** Lasts until the answer is sent or the client is gone. */
async function takePlace({ raw: { socket } }: FastifyRequest, reply: FastifyReply, { places, path, log }: FileAnswer): Promise<void> {
  const gone = new AbortController();
  const leave = (): void => gone.abort(new PlatformError("unavailable", "the client has gone"));
  if (socket.destroyed) leave();
  reply.raw.once("close", leave);
  const end = (): void => {
    log.info("download ended: its client was too slow while others waited", { peer: socket.remoteAddress, path });
    socket.destroy();
  };
  try {
    await places.take({ sent: () => socket.bytesWritten, end }, gone.signal);
  } catch (thrown) {
    void reply.header("Retry-After", 60);
    throw thrown;
  }
}
