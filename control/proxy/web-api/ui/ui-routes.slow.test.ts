import { brotliDecompressSync, gunzipSync } from "node:zlib";
import fc from "fast-check";
import Fastify, { type FastifyInstance } from "fastify";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createLog } from "../../../../core/log/log.ts";
import { addErrors } from "../server/answer-errors.ts";
import { readArchive } from "./read-archive.ts";
import { uiArchive } from "./ui-archive.ts";
import { uiRoutes } from "./ui-routes.ts";

let app: FastifyInstance;
let archive: Buffer;
beforeAll(async () => {
  archive = await uiArchive();
  app = Fastify({ exposeHeadRoutes: true });
  addErrors(app, createLog({ level: "error", format: "text", write: () => {} }));
  uiRoutes(app, { archive: async () => archive });
  await app.ready();
});
afterAll(() => app.close());

const get = (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers });
const htmlOf = async (): Promise<string> => (await get("/web/")).body;
const assetsIn = (html: string): string[] => [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = ""]) => path);

test.for(["/web", "/web/", "/web/hosts", "/web/hosts/a%2Fb?search=x", "/web/resources/../hosts"])("%s is the page", async (url) => {
  const { statusCode, headers, body } = await get(url);
  expect([statusCode, headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
  expect(body).toContain('<div id="app">');
  expect(headers["cache-control"]).toBe("no-cache");
});

test("the page may run and style only with our own files, and makes no code out of text", async () => {
  const { headers, body } = await get("/web/");
  const policy = String(headers["content-security-policy"]);
  expect(policy.split("; ").sort()).toEqual([
    "base-uri 'none'",
    "connect-src 'self'",
    "default-src 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "img-src 'self' data:",
    "require-trusted-types-for 'script'",
    "script-src 'self'",
    "style-src 'self'",
    "trusted-types 'none'",
  ]);
  expect(body).not.toMatch(/<script(?![^>]* src=)|<style|style="|\son[a-z]+=|https?:\/\//);
});

test.for(["/web", "/web/hosts", "/web/terminal?node=x", "/web/recordings/0198"])(
  "%s is in no frame, and out of reach of the page that opened it",
  async (url) => {
    const { headers } = await get(url);
    expect(String(headers["content-security-policy"]).split("; ")).toContain("frame-ancestors 'none'");
    expect(headers["cross-origin-opener-policy"]).toBe("same-origin");
  },
);

test("documents with a terminal may have styles of their own, and nothing else more", async () => {
  const policyOf = async (url: string): Promise<readonly string[]> => String((await get(url)).headers["content-security-policy"]).split("; ");
  const usual = await policyOf("/web/recordings");
  for (const url of ["/web/terminal?node=x", "/web/recordings/0198"]) {
    expect((await policyOf(url)).filter((one) => !usual.includes(one))).toEqual([
      "style-src-elem 'self' 'unsafe-inline'",
      "style-src-attr 'unsafe-inline'",
    ]);
  }
});

test("every file that the page names is there, for a year, in the form that the browser takes", async () => {
  const paths = assetsIn(await htmlOf());
  expect(paths.length).toBe(3);
  for (const path of paths) {
    const plain = await get(path);
    expect([path, plain.statusCode, plain.headers["cache-control"]]).toEqual([path, 200, "public, max-age=31536000, immutable"]);
    const [br, gzip] = [await get(path, { "accept-encoding": "gzip, deflate, br" }), await get(path, { "accept-encoding": "gzip, br;q=0" })];
    expect([br.headers["content-encoding"], gzip.headers["content-encoding"], plain.headers["content-encoding"]]).toEqual(["br", "gzip", undefined]);
    expect(brotliDecompressSync(br.rawPayload)).toEqual(plain.rawPayload);
    expect(gunzipSync(gzip.rawPayload)).toEqual(plain.rawPayload);
    expect(br.headers.vary).toBe("Accept-Encoding");
  }
});

test("a page that the browser has is not sent again", async () => {
  const { headers } = await get("/web/");
  const again = await get("/web/hosts", { "if-none-match": `"x", ${headers.etag}` });
  expect([again.statusCode, again.body]).toEqual([304, ""]);
});

test.for(["/web/assets/none.js", "/web/assets/index.html", "/web/assets/..%2fweb.yaml", "/web/assets/__proto__"])("%s is not there", async (url) => {
  const { statusCode, headers } = await get(url);
  expect([statusCode, headers["cache-control"]]).not.toContain("immutable");
  expect(statusCode).toBe(404);
});

test("all that the first page loads is at most 60 KB, and two builds are equal", async () => {
  const sizes = await Promise.all(assetsIn(await htmlOf()).map(async (path) => (await get(path, { "accept-encoding": "br" })).rawPayload.length));
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(60_000);
  expect((await uiArchive()).equals(archive)).toBe(true);
});

test("nothing in the files names another site", () => {
  for (const { gzip } of readArchive(archive).values()) {
    const sites = gunzipSync(gzip)
      .toString()
      .matchAll(/https?:\/\/([^\s"'`/)]+)/g);
    // Names of XML, which nobody fetches.
    expect([...sites].map(([, host]) => host).filter((host) => host !== "www.w3.org")).toEqual([]);
  }
});

test("an archive that is cut off anywhere, or any other bytes, are refused", () => {
  fc.assert(
    fc.property(fc.nat(archive.length - 1), (end) => {
      expect(() => readArchive(archive.subarray(0, end))).toThrow();
    }),
  );
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      expect(() => readArchive(Buffer.from(bytes))).toThrow();
    }),
  );
});
