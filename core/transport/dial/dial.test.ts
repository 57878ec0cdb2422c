import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { PlatformError } from "../../errors/platform-error.ts";
import { unreadBytes } from "../../node-internals/gather-pieces.ts";
import { dial, dialTls } from "./dial.ts";
import { httpsGet } from "./https-get.ts";
import { createTestAuthority, past, type TestAuthority, type TestCertificate } from "./testing/test-certificate.ts";
import { echo, listenTcp, readUntil } from "./testing/test-server.ts";

const undo: (() => void)[] = [];
let authority: TestAuthority;
let leaf: TestCertificate;
const env = {};

beforeAll(async () => {
  authority = await createTestAuthority();
  leaf = await authority.issue({ type: "dns", value: "proxy.platform.internal" });
});
afterEach(() => {
  for (const step of undo.splice(0)) step();
});

async function serving(...parameters: Parameters<typeof listenTcp>) {
  const server = await listenTcp(...parameters);
  undo.push(() => server.close());
  return server;
}

async function failure(attempt: Promise<unknown>): Promise<PlatformError> {
  const thrown: unknown = await attempt.then(
    () => new Error("not refused"),
    (error: unknown) => error,
  );
  if (thrown instanceof PlatformError) return thrown;
  throw thrown;
}

describe("dial", () => {
  test("gives a connected socket without listeners that reads the target's first bytes", async () => {
    const socket = await dial(await serving(echo), { env });
    expect(["error", "end", "close", "readable", "data", "connect"].map((event) => socket.listenerCount(event) > 1)).toEqual(Array(6).fill(false));
    expect(socket.listenerCount("error")).toBe(0);
    expect(await readUntil(socket, "\n")).toBe("hello\n");
    socket.destroy();
  });

  test("puts single bytes that nobody reads together", async () => {
    const socket = await dial(await serving(() => {}), { env });
    for (let sent = 0; sent < 10_000; sent += 1) socket.push(Buffer.of(1));
    expect([socket.readableLength < 4_096, unreadBytes(socket)]).toEqual([true, 10_000]);
    socket.destroy();
  });

  test("refuses a bad proxy variable before anything is sent", async () => {
    const error = await failure(dial({ host: "c.test", port: 1 }, { env: { HTTPS_PROXY: "http://u:hunter2@127.0.0.1:1" } }));
    expect(error.code).toBe("invalid");
    expect(`${error.message}${error.hint}`).not.toContain("hunter2");
  });

  test("a refused connection is `unavailable`, with the reason", async () => {
    const server = await listenTcp(echo);
    server.close();
    const error = await failure(dial(server, { env }));
    expect([error.code, error.message]).toEqual(["unavailable", `no connection to 127.0.0.1:${server.port}: connection refused`]);
  });

  test("an aborted signal ends it, and leaves no listener", async () => {
    const error = await failure(dial(await serving(echo), { env, signal: AbortSignal.abort() }));
    expect(error.code).toBe("unavailable");
  });
});

describe("dialTls", () => {
  const tls = () => ({ alpn: ["platform-stream"], servername: "proxy.platform.internal", ca: [authority.cert] });

  test("offers its protocols, its certificate and the name", async () => {
    const mine = await authority.issue({ type: "dns", value: "me" });
    const server = await serving(echo, { ...leaf, ca: authority.cert, requestCert: true, ALPNProtocols: ["platform-stream"] });
    const socket = await dialTls(server, { ...tls(), certificate: mine.cert, privateKey: mine.key }, { env });
    expect([socket.alpnProtocol, socket.authorized, socket.listenerCount("error")]).toEqual(["platform-stream", true, 0]);
    expect(await readUntil(socket, "\n")).toBe("hello\n");
    socket.destroy();
  });

  test.for<readonly [name: string, certificate: () => Promise<TestCertificate>, says: string]>([
    ["another name", () => authority.issue({ type: "dns", value: "auth.platform.internal" }), "was issued for another name"],
    ["the past", () => authority.issue({ type: "dns", value: "proxy.platform.internal" }, past()), "has expired"],
    ["an unknown authority", async () => (await createTestAuthority()).issue({ type: "dns", value: "proxy.platform.internal" }), "is not trusted"],
    ["itself", () => createTestAuthority(), "is self-signed and not trusted"],
  ])("refuses a certificate of %s", async ([, certificate, says]) => {
    const { cert, key } = await certificate();
    const server = await serving(() => {}, { cert, key });
    const error = await failure(dialTls(server, tls(), { env }));
    expect([error.code, error.message.startsWith(`the certificate of 127.0.0.1:${server.port} `)]).toEqual(["unauthenticated", true]);
    expect(error.message).toContain(says);
    (await dialTls(server, { ...tls(), insecure: true }, { env })).destroy();
  });

  test("a peer that accepts and stays silent runs into the single time limit", async () => {
    const error = await failure(dialTls(await serving(() => {}), tls(), { env, timeoutMs: 300 }));
    expect([error.code, error.message.includes("the TLS handshake with 127.0.0.1:")]).toEqual(["timeout", true]);
  });

  test("a peer that is not a TLS server, or hangs up", async () => {
    expect((await failure(dialTls(await serving(echo), tls(), { env }))).message).toContain("does not speak TLS on this port");
    expect((await failure(dialTls(await serving((socket) => void socket.resume().end()), tls(), { env }))).code).toBe("unavailable");
  });

  test("an unusable key is reported without being printed", async () => {
    const error = await failure(dialTls(await serving(echo), { ...tls(), certificate: leaf.cert, privateKey: "hunter2" }, { env }));
    expect([error.code, error.message.includes("hunter2")]).toEqual(["invalid", false]);
  });
});

describe("httpsGet", () => {
  async function web(answer: Parameters<typeof createServer>[1]) {
    const server = createServer({ ...(await authority.issue({ type: "ip", value: "127.0.0.1" })) }, answer);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    undo.push(() => {
      server.closeAllConnections();
      server.close();
    });
    return { host: "127.0.0.1", port: (server.address() as AddressInfo).port };
  }
  const trusting = () => ({ env, ca: [authority.cert] });

  test("gives status, headers and body", async () => {
    const target = await web((request, response) => {
      response.writeHead(404, { "X-Path": request.url ?? "", "Set-Cookie": ["a=1", "b=2"], "X-Host": request.headers.host ?? "" }).end("no");
    });
    const answer = await httpsGet(target, "/webapi/ping?a=%20", trusting());
    expect([answer.status, answer.body.toString()]).toEqual([404, "no"]);
    expect(answer.headers).toMatchObject({ "x-path": "/webapi/ping?a=%20", "set-cookie": "a=1, b=2", "x-host": `127.0.0.1:${target.port}` });
  });

  test("refuses an untrusted certificate, unless the call is insecure", async () => {
    const target = await web((_request, response) => response.end("ok"));
    expect((await failure(httpsGet(target, "/", { env }))).code).toBe("unauthenticated");
    expect((await httpsGet(target, "/", { env, insecure: true })).body.toString()).toBe("ok");
  });

  test("a body that is too long is refused, whether announced or not", async () => {
    const target = await web((_request, response) => void response.end(Buffer.alloc(2000)));
    expect((await httpsGet(target, "/", { ...trusting(), maxBytes: 2000 })).body).toHaveLength(2000);
    expect((await failure(httpsGet(target, "/", { ...trusting(), maxBytes: 1999 }))).code).toBe("limit");
  });

  test("an endless answer runs into the time limit, a truncated one is unavailable", async () => {
    const slow = await web((_request, response) => void response.write("a"));
    const error = await failure(httpsGet(slow, "/x", { ...trusting(), timeoutMs: 300 }));
    expect([error.code, error.message]).toEqual(["timeout", `the answer of 127.0.0.1:${slow.port} to GET /x did not come within 0.3 s`]);
    const broken = await web((_request, response) => void response.writeHead(200, { "Content-Length": 10 }).write("a", () => response.destroy()));
    expect((await failure(httpsGet(broken, "/", trusting()))).code).toBe("unavailable");
    const gone = await web((request) => void request.socket.destroy());
    expect((await failure(httpsGet(gone, "/", trusting()))).code).toBe("unavailable");
  });

  test.for(["", "x", "/a b", "/a\r\nX: y", "/ä"])("%j is not a path", async (path) => {
    expect((await failure(httpsGet({ host: "127.0.0.1", port: 1 }, path, { env }))).code).toBe("invalid");
  });

  test("a peer that does not speak HTTP is unavailable", async () => {
    const target = await serving(echo, await authority.issue({ type: "ip", value: "127.0.0.1" }));
    expect((await failure(httpsGet(target, "/", trusting()))).code).toBe("unavailable");
  });
});
