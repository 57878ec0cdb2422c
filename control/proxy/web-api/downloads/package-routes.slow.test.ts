import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink, truncate, utimes, writeFile } from "node:fs/promises";
import { type IncomingMessage, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestCluster, type TestCluster } from "../../../../test/inside/open-cluster.ts";

let cluster: TestCluster;
let bare: TestCluster;
let folder: string;
const big = randomBytes(3_000_000);
const gigabyte = 2 ** 30;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "platform-packages-"));
  await mkdir(join(folder, "pool"));
  await writeFile(join(folder, "pool/a.deb"), "0123456789");
  await writeFile(join(folder, "pool/big.deb"), big);
  await writeFile(join(folder, "empty"), "");
  await writeFile(join(folder, ".secret"), "x");
  await symlink("/etc/passwd", join(folder, "passwd"));
  await utimes(join(folder, "pool/a.deb"), 1_000_000_000, 1_000_000_000);
  cluster = await startTestCluster({
    proxy: { packagesDir: folder, publicAddr: { host: "proxy.example.com", port: 443 } },
    now: () => new Date(Date.now() + 10_000),
  });
  bare = await startTestCluster();
});
afterAll(async () => {
  await cluster[Symbol.asyncDispose]();
  await bare[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

async function send(path: string, options: { method?: string; headers?: Record<string, string>; of?: TestCluster } = {}): Promise<IncomingMessage> {
  const { port } = (options.of ?? cluster).proxy.addresses.web;
  const createConnection = () => connectTls({ host: "127.0.0.1", port, ca: [...(options.of ?? cluster).hostCaPem], servername: "localhost" });
  // The path goes out as it is written here: a URL would be tidied up.
  const sent = request({ createConnection, path, method: options.method ?? "GET", headers: { host: "x", ...options.headers } });
  sent.end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return response;
}

async function call(path: string, options: Parameters<typeof send>[1] = {}): Promise<Answer> {
  const response = await send(path, options);
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  return { status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) };
}

describe("packages", () => {
  test("are served with type, length, validators and caching", async () => {
    const { status, headers, body } = await call("/packages/pool/a.deb?x=1");
    expect(status).toBe(200);
    expect(String(body)).toBe("0123456789");
    expect(headers).toMatchObject({
      "content-type": "application/vnd.debian.binary-package",
      "content-length": "10",
      "accept-ranges": "bytes",
      "cache-control": "public, max-age=31536000, immutable",
      "x-content-type-options": "nosniff",
      etag: expect.stringMatching(/^"[0-9a-z-]+"$/),
      "last-modified": expect.stringMatching(/ GMT$/),
    });
    const head = await call("/packages/pool/a.deb", { method: "HEAD" });
    expect(head).toMatchObject({ status: 200, headers: { "content-length": "10", etag: headers.etag } });
    expect(head.body).toHaveLength(0);
  });

  test("are sent in part, or not at all when known", async () => {
    const { headers } = await call("/packages/pool/a.deb");
    const part = await call("/packages/pool/a.deb", { headers: { range: "bytes=4-6", "if-range": headers.etag ?? "" } });
    expect(part).toMatchObject({ status: 206, headers: { "content-range": "bytes 4-6/10", "content-length": "3" } });
    expect(String(part.body)).toBe("456");
    expect(await call("/packages/pool/a.deb", { headers: { range: "bytes=10-" } })).toMatchObject({
      status: 416,
      headers: { "content-range": "bytes */10" },
    });
    for (const known of [{ "if-none-match": headers.etag ?? "" }, { "if-modified-since": headers["last-modified"] ?? "" }]) {
      const answer = await call("/packages/pool/a.deb", { headers: known });
      expect(answer).toMatchObject({ status: 304, headers: { etag: headers.etag } });
      expect(answer.body).toHaveLength(0);
    }
    expect(await call("/packages/empty")).toMatchObject({ status: 200, headers: { "content-length": "0", "cache-control": "no-cache" } });
  });

  test("are not read for their headers", async () => {
    await writeFile(join(folder, "pool/huge.deb"), "");
    await truncate(join(folder, "pool/huge.deb"), gigabyte);
    const readSoFar = async (): Promise<number> => Number(/^rchar: (\d+)$/m.exec(await readFile("/proc/self/io", "utf8"))?.[1]);
    const before = await readSoFar();
    const head = await call("/packages/pool/huge.deb", { method: "HEAD" });
    expect(head).toMatchObject({ status: 200, headers: { "content-length": String(gigabyte) } });
    expect((await readSoFar()) - before).toBeLessThan(gigabyte / 10);
  });

  test("may have long names", async () => {
    const path = `yum/stable/v1/x86_64/repodata/${"0123456789abcdef".repeat(8)}-primary.xml.zst`;
    await mkdir(join(folder, path, ".."), { recursive: true });
    await writeFile(join(folder, path), "x");
    expect(await call(`/packages/${path}`)).toMatchObject({ status: 200, headers: { "cache-control": expect.stringContaining("immutable") } });
  });

  const absent = [
    "",
    "pool",
    "pool/",
    ".secret",
    "%2esecret",
    "passwd",
    "../x",
    "..%2f..%2fetc/passwd",
    "pool/../pool/a.deb",
    "pool/%2e%2e/pool/a.deb",
    "pool//../a.deb",
    "pool/a.deb/",
    "pool%2fa.deb",
    "%00",
    "nothing",
  ];
  test.for(absent)("there is nothing at /packages/%s", async (path) => {
    const answer = await call(`/packages/${path}`);
    expect(answer.status).toBe(404);
    expect(JSON.parse(String(answer.body))).toMatchObject({ error: { message: expect.any(String) } });
  });

  test("are only read", async () => {
    expect((await call("/packages/pool/a.deb", { method: "DELETE" })).status).toBe(405);
  });

  test("come whole to many at once", async () => {
    const sum = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");
    const all = await Promise.all(Array.from({ length: 20 }, () => call("/packages/pool/big.deb")));
    expect(new Set(all.map(({ body }) => sum(body)))).toEqual(new Set([sum(big)]));
  });

  test("whose reader hangs up leave nothing open", async () => {
    const opened = async (): Promise<number> => {
      const links = await Promise.all((await readdir("/proc/self/fd")).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => "")));
      return links.filter((link) => link.startsWith(folder)).length;
    };
    const response = await send("/packages/pool/big.deb");
    expect(await opened()).toBe(1);
    response.destroy();
    await expect.poll(opened).toBe(0);
  });

  test("that nobody configured are none, which is said", async () => {
    const answer = await call("/packages/pool/a.deb", { of: bare });
    expect(answer.status).toBe(404);
    expect(JSON.parse(String(answer.body))).toMatchObject({ error: { hint: expect.stringContaining("packages_dir") } });
  });
});

test("the install script is served with the proxy's own address in it", async () => {
  const { status, headers, body } = await call("/scripts/install.sh");
  expect(status).toBe(200);
  expect(headers["content-type"]).toBe("text/x-shellscript; charset=utf-8");
  expect(String(body)).toMatch(/^#!\/bin\/sh\n/);
  expect(String(body)).toContain("\nPLATFORM_PROXY='proxy.example.com:443'\n");
});
