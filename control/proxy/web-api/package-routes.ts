import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { choosePart, type Part } from "../packages/choose-part.ts";
import { isImmutable, mediaType } from "../packages/media-type.ts";
import { openPackage, type PackageFile } from "../packages/open-package.ts";
import { parsePackagePath } from "../packages/package-path.ts";

export interface PackageServices {
  /** Left out: this proxy serves none. */
  readonly packagesDir: string | undefined;
  readonly now: () => Date;
}

const prefix = "/packages/";
/** Read and held of a file at a time, for each download, bytes. */
const chunkBytes = 131_072;
/** A client that takes nothing for this long is gone, ms. A slow one is not. */
const stalledMs = 300_000;

/** `/packages/…`: the files of package repositories, for everybody, so that a host needs to reach nothing but the proxy. */
export function packageRoutes(app: FastifyInstance, services: PackageServices): void {
  app.route({ method: ["GET", "HEAD"], exposeHeadRoute: false, url: `${prefix}*`, handler: (request, reply) => serve(request, reply, services) });
}

async function serve(request: FastifyRequest, reply: FastifyReply, { packagesDir, now }: PackageServices): Promise<FastifyReply> {
  if (packagesDir === undefined) {
    throw new PlatformError("not_found", "this proxy serves no packages", { hint: "set proxy_service.packages_dir to a folder of repositories" });
  }
  const [encoded = ""] = (request.raw.url ?? "").slice(prefix.length).split("?", 1);
  const path = parsePackagePath(encoded);
  const file = path === undefined ? undefined : await openPackage(packagesDir, path, now());
  if (path === undefined || file === undefined) throw new PlatformError("not_found", "there is no such file");
  try {
    return await answer(request, reply, { path, file });
  } catch (thrown) {
    await file.handle.close();
    throw thrown;
  }
}

async function answer(request: FastifyRequest, reply: FastifyReply, { path, file }: { path: string; file: PackageFile }): Promise<FastifyReply> {
  const { handle, size, etag } = file;
  const modified = file.modified?.toUTCString();
  const part = choosePart(request.headers, { etag, modified, size });
  const cache = isImmutable(path) ? "public, max-age=31536000, immutable" : "no-cache";
  void reply
    .code(part.status)
    .headers({ ETag: etag, "Cache-Control": cache, "Accept-Ranges": "bytes", ...(modified !== undefined && { "Last-Modified": modified }) });
  if (part.status === 416) void reply.header("Content-Range", `bytes */${size}`);
  if (part.status === 206) void reply.header("Content-Range", `bytes ${part.range.start}-${part.range.end}/${size}`);
  const length = lengthOf(part, size);
  if (length === undefined) {
    await handle.close();
    return await reply.send();
  }
  void reply.type(mediaType(path)).header("Content-Length", length);
  if (request.method === "HEAD" || length === 0) {
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
