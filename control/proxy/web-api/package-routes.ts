import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import { choosePart, type Part } from "../packages/choose-part.ts";
import { DownloadPlaces, type DownloadPlacesOptions } from "../packages/download-places.ts";
import { isImmutable, mediaType, openPackage, type PackageFile, parsePackagePath } from "../packages/package-file.ts";

export interface PackageServices {
  /** Left out: this proxy does not serve packages. */
  readonly packagesDir: string | undefined;
  readonly now: () => Date;
  readonly log: Log;
  readonly downloads?: DownloadPlacesOptions;
}

/** 256 downloads with 128 KiB here and as much in the connection are 64 MiB. */
const usualDownloads: DownloadPlacesOptions = { places: 256, line: 1024, waitMs: 20_000, lookMs: 5000, leastBytes: 81_920 };

const prefix = "/packages/";
/** Size of a piece read and held at a time, for each download, bytes. */
const chunkBytes = 131_072;
/** Time without progress after which a client counts as gone, ms. A slow one does not. */
const stalledMs = 300_000;

/** `/packages/…`: the files of package repositories, public, so that a host only needs to reach the proxy. */
export function packageRoutes(app: FastifyInstance, services: PackageServices): void {
  const serving = { ...services, places: new DownloadPlaces(services.downloads ?? usualDownloads) };
  app.route({ method: ["GET", "HEAD"], exposeHeadRoute: false, url: `${prefix}*`, handler: (request, reply) => serve(request, reply, serving) });
}

interface Serving extends PackageServices {
  readonly places: DownloadPlaces;
}

async function serve(request: FastifyRequest, reply: FastifyReply, serving: Serving): Promise<FastifyReply> {
  const { packagesDir, now } = serving;
  if (packagesDir === undefined) {
    throw new PlatformError("not_found", "this proxy does not serve packages", {
      hint: "set proxy_service.packages_dir to a folder of repositories",
    });
  }
  const [encoded = ""] = (request.raw.url ?? "").slice(prefix.length).split("?", 1);
  const path = parsePackagePath(encoded);
  const file = path === undefined ? undefined : await openPackage(packagesDir, path, now());
  if (path === undefined || file === undefined) throw new PlatformError("not_found", "no such file");
  try {
    return await answer(request, reply, { ...serving, path, file });
  } catch (thrown) {
    await file.handle.close();
    throw thrown;
  }
}

interface Answering extends Serving {
  readonly path: string;
  readonly file: PackageFile;
}

async function answer(request: FastifyRequest, reply: FastifyReply, answering: Answering): Promise<FastifyReply> {
  const { path, file } = answering;
  const { handle, size, etag } = file;
  const modified = file.modified?.toUTCString();
  const part = choosePart(request.headers, { etag, modified, size });
  const length = lengthOf(part, size);
  const hasBody = length !== undefined && length > 0 && request.method !== "HEAD";
  if (hasBody) await takePlace(request, reply, answering);
  const cache = isImmutable(path) ? "public, max-age=31536000, immutable" : "no-cache";
  void reply
    .code(part.status)
    .headers({ ETag: etag, "Cache-Control": cache, "Accept-Ranges": "bytes", ...(modified !== undefined && { "Last-Modified": modified }) });
  if (part.status === 416) void reply.header("Content-Range", `bytes */${size}`);
  if (part.status === 206) void reply.header("Content-Range", `bytes ${part.range.start}-${part.range.end}/${size}`);
  if (length !== undefined) void reply.type(mediaType(path)).header("Content-Length", length);
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
async function takePlace({ raw: { socket } }: FastifyRequest, reply: FastifyReply, { places, path, log }: Answering): Promise<void> {
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
