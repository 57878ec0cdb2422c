import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { blobPath, type LayoutPlace, readManifest, readTags } from "../../packages/image-layout.ts";
import { openPackage } from "../../packages/package-file.ts";
import { parseRegistryPath, type RegistryAsk } from "../../packages/registry-path.ts";
import { type Serving, sendFile } from "./send-file.ts";

const prefix = "/v2/";
/** Most tags of one answer. */
const maxTags = 1000;
/** What a digest names never changes. */
const forever = "public, max-age=31536000, immutable";

/** `/v2/…`: the images and charts of the package repositories as a registry that can only be read, public like the packages. */
export function registryRoutes(app: FastifyInstance, serving: Serving): void {
  app.route({ method: ["GET", "HEAD"], exposeHeadRoute: false, url: `${prefix}*`, handler: (request, reply) => serve(request, reply, serving) });
}

async function serve(request: FastifyRequest, reply: FastifyReply, serving: Serving): Promise<FastifyReply> {
  const { packagesDir: folder, now } = serving;
  const [path = "", query = ""] = (request.raw.url ?? "").slice(prefix.length).split("?", 2);
  const ask = parseRegistryPath(path);
  void reply.header("Docker-Distribution-Api-Version", "registry/2.0");
  if (folder === undefined) return await refuse(reply, "NAME_UNKNOWN", "this proxy serves no images: set proxy_service.packages_dir");
  if (ask === undefined) return await refuse(reply, "NAME_INVALID", "no registry has such a path");
  if (ask.kind === "version") return await reply.send({});
  const place = { folder, name: ask.name, now: now() };
  if (ask.kind === "tags") return await sendTags(reply, place, query);
  if (ask.kind === "manifest") return await sendManifest(request, reply, { place, reference: ask.reference });
  return await sendBlob(request, reply, { ...serving, ask, place });
}

/** In order, after `last`, at most `n`; the next page is in `Link`. */
async function sendTags(reply: FastifyReply, place: LayoutPlace, query: string): Promise<FastifyReply> {
  const tags = await readTags(place);
  if (tags === undefined) return await refuse(reply, "NAME_UNKNOWN", "no such repository");
  const asked = new URLSearchParams(query);
  const [last, n] = [asked.get("last") ?? "", asked.get("n") ?? ""];
  const all = [...tags.keys()].sort().filter((tag) => tag > last);
  const page = all.slice(0, /^\d{1,6}$/.test(n) ? Math.min(Number(n), maxTags) : maxTags);
  const end = page.at(-1);
  if (end !== undefined && page.length < all.length)
    void reply.header("Link", `<${prefix}${place.name}/tags/list?n=${page.length}&last=${end}>; rel="next"`);
  return await reply.header("Cache-Control", "no-cache").send({ name: place.name, tags: page });
}

async function sendManifest(
  { method, headers }: FastifyRequest,
  reply: FastifyReply,
  { place, reference }: { readonly place: LayoutPlace; readonly reference: string },
): Promise<FastifyReply> {
  const manifest = await readManifest(place, reference);
  if (manifest === undefined) return await refuse(reply, "MANIFEST_UNKNOWN", "no such manifest");
  const { digest, mediaType, content } = manifest;
  const etag = `"${digest}"`;
  void reply.headers({ ETag: etag, "Docker-Content-Digest": digest, "Cache-Control": reference === digest ? forever : "no-cache" });
  if (headers["if-none-match"] === etag) return await reply.code(304).send();
  void reply.header("Content-Type", mediaType).header("Content-Length", content.length);
  return await reply.send(method === "HEAD" ? undefined : content);
}

interface BlobAsk extends Serving {
  readonly ask: RegistryAsk & { readonly kind: "blob" };
  readonly place: LayoutPlace;
}

async function sendBlob(request: FastifyRequest, reply: FastifyReply, { ask, place, ...serving }: BlobAsk): Promise<FastifyReply> {
  const path = blobPath(ask.name, ask.digest);
  const file = await openPackage(place.folder, path, place.now);
  if (file === undefined) return await refuse(reply, "BLOB_UNKNOWN", "no such blob");
  void reply.header("Docker-Content-Digest", ask.digest);
  return await sendFile(request, reply, { ...serving, path, file, type: "application/octet-stream", cache: forever });
}

type Refusal = "NAME_UNKNOWN" | "NAME_INVALID" | "MANIFEST_UNKNOWN" | "BLOB_UNKNOWN";

/** As registries answer. */
async function refuse(reply: FastifyReply, code: Refusal, message: string): Promise<FastifyReply> {
  return await reply
    .code(404)
    .header("Cache-Control", "no-cache")
    .send({ errors: [{ code, message }] });
}
