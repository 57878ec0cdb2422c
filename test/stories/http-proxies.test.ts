import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Env } from "../../core/transport/dial/choose-proxy.ts";
import { dial, dialTls } from "../../core/transport/dial/dial.ts";
import { httpsGet } from "../../core/transport/dial/https-get.ts";
import { type MadeCertificate, makeCertificate } from "../world/http-proxy/make-certificate.ts";
import { openProxyNetwork, type ProxyNetwork } from "../world/http-proxy/open-proxy-network.ts";
import { type Squid, startSquid } from "../world/http-proxy/start-squid.ts";
import { startTinyproxy, type Tinyproxy } from "../world/http-proxy/start-tinyproxy.ts";
import { run } from "../world/program.ts";

const isRoot = process.getuid?.() === 0;
let network: ProxyNetwork;
let squid: Squid;
let tinyproxy: Tinyproxy;
let dir: string;
let certificate: MadeCertificate;
/** Ports on `network.here`: a server that says where the caller comes from and then repeats, one more, and a web server. */
let [tunnelPort, trustPort, webPort] = [3024, 3080, 0];
const servers: Server[] = [];

beforeAll(async () => {
  if (!isRoot) return;
  network = await openProxyNetwork();
  const where = { address: network.there, netns: network.netns };
  squid = await startSquid(where);
  tinyproxy = await startTinyproxy(where);
  dir = await mkdtemp(join(tmpdir(), "platform-proxies-"));
  certificate = await makeCertificate(dir, [network.here]);
  tunnelPort = await listening(createServer({ allowHalfOpen: true }, greet), tunnelPort);
  trustPort = await listening(createServer({ allowHalfOpen: true }, greet), trustPort);
  const web = createHttpsServer(certificate, (request, response) => response.end(`${request.socket.remoteAddress} ${request.url}`));
  webPort = await listening(web, 0);
});

afterAll(async () => {
  for (const server of servers) server.close();
  await squid?.stop();
  await tinyproxy?.stop();
  await network?.[Symbol.asyncDispose]();
  if (dir !== undefined) await rm(dir, { recursive: true });
});

beforeEach(({ skip }) => skip(!isRoot, "needs root, to make a network namespace for the proxies"));

/** As an SSH server, it speaks first. */
function greet(socket: Socket): void {
  socket.on("error", () => {});
  socket.write(`${socket.remoteAddress}\n`);
  socket.pipe(socket);
}

async function listening(server: Server, port: number): Promise<number> {
  servers.push(server);
  server.listen(port, network.here);
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** Where the target at `network.here` sees us come from. */
async function origin(env: Env, port: number): Promise<string> {
  const socket = await dial({ host: network.here, port }, { env, proxyCa: [squid.caPem] });
  for await (const chunk of socket) return String(chunk).trim();
  throw new Error("ended without a word");
}

async function failure(env: Env, port = tunnelPort, proxyCa: readonly string[] = [squid.caPem]) {
  return await dial({ host: network.here, port }, { env, proxyCa }).then(
    () => ({ code: "none", message: "not refused", hint: "" }),
    (error: { code: string; message: string; hint: string }) => error,
  );
}

const withPassword = (url: string, password: string): string => url.replace(/:[^:@/]*@/, `:${password}@`);
const withoutCredentials = (url: string): string => url.replace(/\/\/.*@/, "//");

describe("real proxies", () => {
  test.for<readonly [name: string, url: () => string]>([
    ["squid", () => squid.httpUrl],
    ["squid over TLS", () => squid.httpsUrl],
    ["tinyproxy", () => tinyproxy.httpUrl],
    ["squid without a scheme", () => squid.httpUrl.replace("http://", "")],
  ])("%s carries the tunnel, and bytes come through unchanged both ways", async ([, url]) => {
    const socket = await dial({ host: network.here, port: tunnelPort }, { env: { HTTPS_PROXY: url() }, proxyCa: [squid.caPem] });
    const block = randomBytes(3_000_000);
    const greeting = `${network.there}\n`;
    // Neither proxy keeps a half-closed tunnel alive, so the end is found by counting.
    socket.write(block);
    const chunks: Buffer[] = [];
    let left = greeting.length + block.length;
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      left -= chunk.length;
      if (left <= 0) break;
    }
    const all = Buffer.concat(chunks);
    expect(all.subarray(0, greeting.length).toString()).toBe(greeting);
    expect(digest(all.subarray(greeting.length))).toBe(digest(block));
  });

  test("squid's own log names the target and the decoded user", async () => {
    expect(await origin({ HTTPS_PROXY: squid.httpUrl }, trustPort)).toBe(network.there);
    await expect.poll(() => squid.accessLog()).toMatch(new RegExp(`/200 \\d+ CONNECT ${network.here}:${trustPort} agent `));
  });

  test.for<readonly [name: string, url: () => string, status: string]>([
    ["squid", () => squid.httpUrl, "407 "],
    ["squid over TLS", () => squid.httpsUrl, "407 "],
    ["tinyproxy", () => tinyproxy.httpUrl, "401 "],
  ])("%s refuses wrong and missing credentials, and we say which", async ([, url, status]) => {
    const wrong = await failure({ HTTPS_PROXY: withPassword(url(), "hunter2") });
    expect([wrong.code, wrong.message.includes(status), wrong.message.includes("the credentials are wrong")]).toEqual([
      "unauthenticated",
      true,
      true,
    ]);
    expect(`${wrong.message}${wrong.hint}`).not.toContain("hunter2");
    const missing = await failure({ HTTPS_PROXY: withoutCredentials(url()) });
    expect([missing.code, missing.message.includes("credentials are missing")]).toEqual(["unauthenticated", true]);
  });

  test.for<readonly [name: string, url: () => string]>([
    ["squid", () => squid.httpUrl],
    ["tinyproxy", () => tinyproxy.httpUrl],
  ])("%s cannot reach the target: a clear error that names both", async ([, url]) => {
    const error = await failure({ HTTPS_PROXY: url() }, 1);
    expect(error.code).toBe("unavailable");
    expect(error.message).toMatch(new RegExp(`^the proxy ${network.there}:\\d+ refused a tunnel to ${network.here}:1: 50\\d`));
  });

  test("a port that squid's rules forbid", async () => {
    const error = await failure({ HTTPS_PROXY: squid.httpUrl }, 25);
    expect([error.code, error.message.includes("403 Forbidden"), error.hint.includes("port 25")]).toEqual(["unavailable", true, true]);
  });

  test("a TLS proxy that this machine does not trust is refused before it gets the credentials", async () => {
    const before = await squid.accessLog();
    const error = await failure({ HTTPS_PROXY: squid.httpsUrl }, tunnelPort, [certificate.caPem]);
    expect(error.code).toBe("unauthenticated");
    expect(error.message).toContain(`the certificate of the proxy ${network.there}:3129`);
    expect((await squid.accessLog()).slice(before.length)).not.toContain(" agent ");
  });

  test("a TLS proxy is trusted through the machine's own store", async () => {
    const module = resolve(import.meta.dirname, "../../core/transport/dial/dial.ts");
    const script = `const { dial } = await import(${JSON.stringify(module)});
      const socket = await dial({ host: ${JSON.stringify(network.here)}, port: ${tunnelPort} }, { env: process.env });
      for await (const chunk of socket) { console.log(String(chunk)); break; }`;
    const env = { HTTPS_PROXY: squid.httpsUrl, SSL_CERT_FILE: squid.caFile };
    const done = await run(process.execPath, ["--input-type=module", "-e", script], { env });
    expect([done.status, done.stdout.trim(), done.stderr]).toEqual([0, network.there, ""]);
  });

  test("the default configuration tunnels 3024 and 3080, and NO_PROXY=host:3024 excludes just that one", async () => {
    expect([tunnelPort, trustPort]).toEqual([3024, 3080]);
    const env = { HTTPS_PROXY: squid.httpUrl };
    expect([await origin(env, 3024), await origin(env, 3080)]).toEqual([network.there, network.there]);
    const one = { ...env, NO_PROXY: `${network.here}:3024` };
    expect([await origin(one, 3024), await origin(one, 3080)]).toEqual([network.here, network.there]);
    const none = { ...env, NO_PROXY: "198.51.100.0/24" };
    expect([await origin(none, 3024), await origin(none, 3080)]).toEqual([network.here, network.here]);
  });

  test("HTTP_PROXY serves as well, and HTTPS_PROXY comes before it", async () => {
    expect(await origin({ HTTP_PROXY: tinyproxy.httpUrl }, tunnelPort)).toBe(network.there);
    expect(await origin({ HTTP_PROXY: "http://192.0.2.1:1", HTTPS_PROXY: tinyproxy.httpUrl }, tunnelPort)).toBe(network.there);
  });

  test.for<readonly [name: string, url: () => string]>([
    ["squid", () => squid.httpUrl],
    ["squid over TLS (TLS within TLS)", () => squid.httpsUrl],
    ["tinyproxy", () => tinyproxy.httpUrl],
  ])("%s carries TLS and HTTPS to the target, whose own certificate is verified", async ([, url]) => {
    const target = { host: network.here, port: webPort };
    const options = { env: { HTTPS_PROXY: url() }, proxyCa: [squid.caPem] };
    const answer = await httpsGet(target, "/webapi/ping", { ...options, ca: [certificate.caPem] });
    expect([answer.status, answer.body.toString()]).toEqual([200, `${network.there} /webapi/ping`]);
    await expect(httpsGet(target, "/", { ...options, ca: [squid.caPem] })).rejects.toMatchObject({ code: "unauthenticated" });
    const socket = await dialTls(target, { alpn: ["http/1.1"], servername: network.here, ca: [certificate.caPem] }, options);
    expect([socket.authorized, socket.alpnProtocol]).toEqual([true, "http/1.1"]);
    socket.destroy();
  });
});

function digest(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}
