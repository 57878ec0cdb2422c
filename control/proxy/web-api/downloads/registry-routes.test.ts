import { createHash } from "node:crypto";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Fastify, { type FastifyInstance } from "fastify";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog } from "../../../../core/log/log.ts";
import { addErrors } from "../server/answer-errors.ts";
import { packageRoutes } from "./package-routes.ts";

const manifestType = "application/vnd.oci.image.manifest.v1+json";
const layer = Buffer.from("0123456789");
const manifest = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: manifestType, layers: [] }));
const hashOf = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");
const [layerDigest, manifestDigest] = [`sha256:${hashOf(layer)}`, `sha256:${hashOf(manifest)}`];

let folder: string;
let app: FastifyInstance;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "platform-registry-"));
  const layout = join(folder, "oci/platform-ent");
  await mkdir(join(layout, "blobs/sha256"), { recursive: true });
  for (const blob of [layer, manifest]) await writeFile(join(layout, "blobs/sha256", hashOf(blob)), blob);
  const tagged = (tag: string) => ({ mediaType: manifestType, digest: manifestDigest, annotations: { "org.opencontainers.image.ref.name": tag } });
  await writeFile(join(layout, "index.json"), JSON.stringify({ schemaVersion: 2, manifests: ["1.1.0", "1.0.0", "1.2.0"].map(tagged) }));
  app = Fastify();
  addErrors(app, silentLog);
  packageRoutes(app, { packagesDir: folder, now: () => new Date(Date.now() + 10_000), log: silentLog });
});
afterEach(async () => {
  await app.close();
  await rm(folder, { recursive: true });
});

const get = (url: string, headers: Record<string, string> = {}, method: "GET" | "HEAD" | "PUT" = "GET") => app.inject({ method, url, headers });

test("a registry is there, and its tags", async () => {
  expect((await get("/v2/")).statusCode).toBe(200);
  const tags = await get("/v2/platform-ent/tags/list");
  expect(tags.json()).toEqual({ name: "platform-ent", tags: ["1.0.0", "1.1.0", "1.2.0"] });
  const page = await get("/v2/platform-ent/tags/list?n=2&last=");
  expect(page.json().tags).toEqual(["1.0.0", "1.1.0"]);
  expect(page.headers.link).toBe('</v2/platform-ent/tags/list?n=2&last=1.1.0>; rel="next"');
  expect((await get("/v2/platform-ent/tags/list?n=2&last=1.1.0")).json().tags).toEqual(["1.2.0"]);
});

test("a manifest comes with its type and digest, by tag and by digest", async () => {
  for (const [reference, cache] of [
    ["1.0.0", "no-cache"],
    [manifestDigest, "public, max-age=31536000, immutable"],
  ] as const) {
    const answer = await get(`/v2/platform-ent/manifests/${reference}`);
    expect(answer.statusCode).toBe(200);
    expect(answer.rawPayload.equals(manifest)).toBe(true);
    expect(answer.headers).toMatchObject({ "content-type": manifestType, "docker-content-digest": manifestDigest, "cache-control": cache });
  }
  const head = await get("/v2/platform-ent/manifests/1.0.0", {}, "HEAD");
  expect([head.statusCode, head.headers["content-length"], head.payload]).toEqual([200, String(manifest.length), ""]);
  expect((await get("/v2/platform-ent/manifests/1.0.0", { "if-none-match": `"${manifestDigest}"` })).statusCode).toBe(304);
});

test("a blob comes whole, or the part that was asked for", async () => {
  const url = `${await app.listen({ host: "127.0.0.1", port: 0 })}/v2/platform-ent/blobs/${layerDigest}`;
  const whole = await fetch(url);
  expect([whole.status, await whole.text(), whole.headers.get("docker-content-digest")]).toEqual([200, "0123456789", layerDigest]);
  const part = await fetch(url, { headers: { range: "bytes=4-" } });
  expect([part.status, await part.text(), part.headers.get("content-range")]).toEqual([206, "456789", "bytes 4-9/10"]);
});

test.for<readonly [string, string]>([
  ["/v2/platform-ent/manifests/9.9.9", "MANIFEST_UNKNOWN"],
  ["/v2/other/manifests/1.0.0", "MANIFEST_UNKNOWN"],
  [`/v2/platform-ent/manifests/sha256:${"0".repeat(64)}`, "MANIFEST_UNKNOWN"],
  // A layer.
  [`/v2/platform-ent/manifests/${layerDigest}`, "MANIFEST_UNKNOWN"],
  [`/v2/platform-ent/blobs/sha256:${"0".repeat(64)}`, "BLOB_UNKNOWN"],
  ["/v2/other/tags/list", "NAME_UNKNOWN"],
  ["/v2/platform%2fent/tags/list", "NAME_INVALID"],
  ["/v2/_catalog", "NAME_INVALID"],
  [`/v2/platform-ent/referrers/${manifestDigest}`, "NAME_INVALID"],
])("%s is %s", async ([url, code]) => {
  const answer = await get(url);
  expect(answer.statusCode).toBe(404);
  expect(answer.json().errors).toMatchObject([{ code }]);
});

test("nothing can be written, and a link out of the folder leads nowhere", async () => {
  expect((await get("/v2/platform-ent/manifests/1.0.0", {}, "PUT")).statusCode).toBeGreaterThanOrEqual(400);
  const name = hashOf(Buffer.from("passwd"));
  await symlink("/etc/passwd", join(folder, "oci/platform-ent/blobs/sha256", name));
  expect((await get(`/v2/platform-ent/blobs/sha256:${name}`)).statusCode).toBe(404);
});

test("a damaged repository is reported rather than served", async () => {
  const layout = join(folder, "oci/platform-ent");
  await writeFile(join(layout, "blobs/sha256", hashOf(manifest)), JSON.stringify({ mediaType: manifestType, layers: [1] }));
  expect((await get("/v2/platform-ent/manifests/1.0.0")).statusCode).toBeGreaterThanOrEqual(400);
  await writeFile(join(layout, "index.json"), "{");
  expect((await get("/v2/platform-ent/tags/list")).statusCode).toBeGreaterThanOrEqual(400);
});
