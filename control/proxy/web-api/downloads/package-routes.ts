import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import type { Log } from "../../../../core/log/log.ts";
import { DownloadPlaces, type DownloadPlacesOptions } from "../../packages/download-places.ts";
import { isImmutable, mediaType, openPackage, parsePackagePath } from "../../packages/package-file.ts";
import { registryRoutes } from "./registry-routes.ts";
import { type Serving, sendFile } from "./send-file.ts";

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

/** `/packages/…`: the files of package repositories, public, so that a host only needs to reach the proxy. */
export function packageRoutes(app: FastifyInstance, services: PackageServices): void {
  const serving = { ...services, places: new DownloadPlaces(services.downloads ?? usualDownloads) };
  registryRoutes(app, serving);
  app.route({ method: ["GET", "HEAD"], exposeHeadRoute: false, url: `${prefix}*`, handler: (request, reply) => serve(request, reply, serving) });
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
  const cache = isImmutable(path) ? "public, max-age=31536000, immutable" : "no-cache";
  return await sendFile(request, reply, { ...serving, path, file, type: mediaType(path), cache });
}
