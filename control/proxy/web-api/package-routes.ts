import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import { choosePart, type Part } from "../packages/choose-part.ts";
import { DownloadPlaces, type DownloadPlacesOptions } from "../packages/download-places.ts";
import { isImmutable, mediaType } from "../packages/media-type.ts";
import { openPackage, type PackageFile } from "../packages/open-package.ts";
import { parsePackagePath } from "../packages/package-path.ts";

export interface PackageServices {
  /** Left out: this proxy serves none. */
  readonly packagesDir: string | undefined;
  readonly now: () => Date;
  readonly log: Log;
  readonly downloads?: DownloadPlacesOptions;
}

/** 256 times what a download holds, 128 KiB here and as much in its connection, is 64 MiB. */
const usualDownloads: DownloadPlacesOptions = { places: 256, line: 1024, waitMs: 20_000, lookMs: 5000, leastBytes: 81_920 };

const prefix = "/packages/";
/** Read and held of a file at a time, for each download, bytes. */
const chunkBytes = 131_072;
/** A client that takes nothing for this long is gone, ms. A slow one is not. */
const stalledMs = 300_000;

/** `/packages/…`: the files of package repositories, for everybody, so that a host needs to reach nothing but the proxy. */
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
    throw new PlatformError("not_found", "this proxy serves no packages", { hint: "set proxy_service.packages_dir to a folder of repositories" });
  }
  const [encoded = ""] = (request.raw.url ?? "").slice(prefix.length).split("?", 1);
  const path = parsePackagePath(encoded);
  const file = path === undefined ? undefined : await openPackage(packagesDir, path, now());
  if (path === undefined || file === undefined) throw new PlatformError("not_found", "there is no such file");
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

/** Of the body; undefined: there is none. */
function lengthOf(part: Part, size: number): number | undefined {
  if (part.status === 200) return size;
  return part.status === 206 ? part.range.end - part.range.start + 1 : undefined;
}

/** Until the answer is out or its client gone. */
async function takePlace({ raw: { socket } }: FastifyRequest, reply: FastifyReply, { places, path, log }: Answering): Promise<void> {
  const gone = new AbortController();
  const leave = (): void => gone.abort(new PlatformError("unavailable", "the client has gone"));
  if (socket.destroyed) leave();
  reply.raw.once("close", leave);
  const end = (): void => {
    log.info("a download was ended: its client took too little while others waited", { peer: socket.remoteAddress, path });
    socket.destroy();
  };
  try {
    await places.take({ sent: () => socket.bytesWritten, end }, gone.signal);
  } catch (thrown) {
    void reply.header("Retry-After", 60);
    throw thrown;
  }
}
