import type { Socket } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { PlatformError } from "../../errors/platform-error.ts";
import type { HostPort } from "../host-port.ts";
import { Attempt } from "./attempt.ts";
import { dialRoute } from "./dial.ts";
import type { ProxyUrl } from "./proxy-url.ts";
import { createTestAuthority, past, type TestAuthority } from "./testing/test-certificate.ts";
import { echo, listenTcp, onRequest, readUntil, type TestServer } from "./testing/test-server.ts";

const target: HostPort = { host: "control.example.com", port: 3024 };
const credentials = { user: "agent", password: "hunter2" };
const servers: TestServer[] = [];
let authority: TestAuthority;

beforeAll(async () => {
  authority = await createTestAuthority();
});
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});
afterAll(() => expect(servers).toHaveLength(0));

interface Setting {
  readonly url?: Partial<ProxyUrl>;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** Only chooseProxy refuses loopback proxies, so a route to one can be dialled here. */
async function through(proxy: HostPort, setting: Setting = {}): Promise<Socket> {
  const url: ProxyUrl = { scheme: "http", variable: "HTTPS_PROXY", host: proxy.host, port: proxy.port, ...setting.url };
  using attempt = new Attempt({ timeoutMs: setting.timeoutMs ?? 10_000, ...(setting.signal && { signal: setting.signal }) });
  return await dialRoute(target, { kind: "proxy", url, why: "" }, { attempt, proxyCa: [authority.cert] });
}

async function serving(...parameters: Parameters<typeof listenTcp>): Promise<TestServer> {
  const server = await listenTcp(...parameters);
  servers.push(server);
  return server;
}

const answering = (answer: (socket: Socket, header: string) => void) => (socket: Socket) => onRequest(socket, (header) => answer(socket, header));

describe("a tunnel through a proxy", () => {
  const ok = "HTTP/1.1 200 Connection established\r\n\r\n";
  const gluing = (socket: Socket): void => {
    socket.write(`${ok}hello\n`);
    socket.on("data", (chunk) => socket.write(chunk));
  };
  test.for<readonly [name: string, answer: (socket: Socket) => void]>([
    ["answers at once", (socket) => void socket.write(ok, () => echo(socket))],
    ["glues the first bytes of the tunnel to its answer", gluing],
    ["answers byte by byte", (socket) => drip(socket, `${ok}hello\n`)],
    ["splits its answer inside the empty line", (socket) => drip(socket, ok, 3, () => echo(socket))],
    [
      "announces a body, which a tunnel cannot have",
      (socket) => void socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\nhello\n`),
    ],
    ["sends interim answers first", (socket) => void socket.write(`HTTP/1.1 100 Continue\r\n\r\n${ok}hello\n`)],
    ["speaks HTTP/1.0 with bare line feeds", (socket) => void socket.write("HTTP/1.0 200 OK\n\nhello\n")],
    ["sends a header of nearly 16 KiB", (socket) => void socket.write(`HTTP/1.1 200 OK\r\nX: ${"y".repeat(16_300)}\r\n\r\nhello\n`)],
  ])("works when the proxy %s", async ([, answer]) => {
    const socket = await through(await serving(answering(answer)));
    expect(await readUntil(socket, "\n")).toBe("hello\n");
    socket.destroy();
  });

  test("sends the target, and the decoded credentials", async () => {
    let header = "";
    const proxy = await serving(
      answering((socket, text) => {
        header = text;
        socket.write(ok);
      }),
    );
    (await through(proxy, { url: { credentials: { user: "agent", password: "p@ss:word" } } })).destroy();
    expect(header).toMatch(/^CONNECT control\.example\.com:3024 HTTP\/1\.1\r\nHost: control\.example\.com:3024\r\n/);
    expect(header).toContain(`Proxy-Authorization: Basic ${Buffer.from("agent:p@ss:word").toString("base64")}\r\n`);
  });

  test("carries megabytes both ways after a glued answer", async () => {
    const proxy = await serving(answering(gluing));
    const socket = await through(proxy);
    const block = Buffer.alloc(1_000_000, "x");
    socket.end(Buffer.concat([block, Buffer.from("\0")]));
    expect(await readUntil(socket, "\0")).toBe(`hello\n${block.toString()}\0`);
  });

  test("works through TLS to the proxy, whose own name is verified", async () => {
    const proxy = await serving(
      answering((socket) => void socket.write(`${ok}hello\n`)),
      await authority.issue({ type: "ip", value: "127.0.0.1" }),
    );
    const socket = await through(proxy, { url: { scheme: "https" } });
    expect(await readUntil(socket, "\n")).toBe("hello\n");
    socket.destroy();
  });
});

describe("a hostile or broken proxy", () => {
  const refused = (line: string) => (socket: Socket) => void socket.end(`${line}\r\nContent-Length: 4\r\n\r\nbody`);
  test.for<readonly [name: string, answer: (socket: Socket) => void, code: string, says: string, setting?: Setting]>([
    ["401", refused("HTTP/1.1 401 Unauthorized"), "unauthenticated", "401 Unauthorized (credentials are missing)"],
    ["407", refused("HTTP/1.1 407 Proxy Authentication Required"), "unauthenticated", "(credentials are missing)"],
    ["407 to credentials", refused("HTTP/1.1 407 No"), "unauthenticated", "407 No (the credentials are wrong)", { url: { credentials } }],
    [
      "407 that repeats the password",
      refused("HTTP/1.1 407 bad hunter2"),
      "unauthenticated",
      "407 (the credentials are wrong)",
      { url: { credentials } },
    ],
    ["403", refused("HTTP/1.1 403 Forbidden"), "unavailable", "403 Forbidden"],
    ["502", refused("HTTP/1.1 502 Bad \x1b[2JGateway"), "unavailable", "502 Bad ?[2JGateway"],
    ["101", refused("HTTP/1.1 101 Switching Protocols"), "unavailable", "101 Switching Protocols"],
    ["301", refused("HTTP/1.1 301 Moved\r\nLocation: http://x/"), "unavailable", "301 Moved"],
    ["garbage", (socket) => void socket.write("SSH-2.0-OpenSSH_9.2\r\n"), "unavailable", "something that is not HTTP"],
    ["a bad status line", (socket) => void socket.write("HTTP/1.1 ok\r\n\r\n"), "unavailable", 'an answer that begins with "HTTP/1.1 ok"'],
    ["a TLS alert", (socket) => void socket.write(Buffer.from([21, 3, 3, 0, 2, 2, 70])), "unavailable", "something that is not HTTP"],
    ["a header without end", flood("A: b\r\n"), "unavailable", "whose header has no end within 16384 bytes"],
    ["a line without end", flood("x"), "unavailable", "whose header has no end within 16384 bytes"],
    ["interim answers without end", flood("\r\n\r\nHTTP/1.1 100 Continue"), "unavailable", "whose header has no end within 16384 bytes"],
    ["an early end", (socket) => void socket.end(), "unavailable", "ended the connection without an answer"],
    [
      "an end within the header",
      (socket) => void socket.end("HTTP/1.1 200 OK\r\nX: "),
      "unavailable",
      "ended the connection in the middle of its answer",
    ],
    ["a reset", (socket) => void socket.resetAndDestroy(), "unavailable", "the connection was reset"],
    ["silence", () => {}, "timeout", "did not come within 0.3 s", { timeoutMs: 300 }],
    ["a header that stops", (socket) => void socket.write("HTTP/1.1 200 OK\r\n"), "timeout", "did not come within 0.3 s", { timeoutMs: 300 }],
  ])("%s ends in an error that names proxy and target", async ([, answer, code, says, setting]) => {
    const proxy = await serving(answering(answer));
    const error = await failure(through(proxy, setting));
    expect(error.code).toBe(code);
    expect(error.message).toContain(says);
    expect(error.message).toContain(`the proxy 127.0.0.1:${proxy.port}`);
    expect(error.message).toContain("control.example.com:3024");
    expect(error.hint).toBeTypeOf("string");
    expect(`${error.message} ${error.hint} ${String(error.cause)}`).not.toContain("hunter2");
  });

  test("nobody listens", async () => {
    const proxy = await listenTcp(() => {});
    proxy.close();
    const error = await failure(through(proxy));
    expect([error.code, error.message]).toEqual([
      "unavailable",
      `no connection to the proxy 127.0.0.1:${proxy.port} (HTTPS_PROXY) on the way to control.example.com:3024: connection refused`,
    ]);
  });

  test("a name that does not exist", async () => {
    const error = await failure(through({ host: "no-such-host.invalid", port: 1 }));
    expect(error.code).toBe("unavailable");
    expect(error.message).toMatch(/no-such-host\.invalid:1 \(HTTPS_PROXY\).*the name (does not exist|could not be resolved)$/);
  });

  test("the signal ends the wait", async () => {
    const stop = new AbortController();
    const proxy = await serving(answering(() => stop.abort()));
    const error = await failure(through(proxy, { signal: stop.signal }));
    expect(error.message).toMatch(/^stopped while waiting for the answer of the proxy/);
    expect((await failure(through(proxy, { signal: AbortSignal.abort() }))).message).toMatch(/^stopped/);
  });

  test.for<readonly [name: string, certificate: () => Promise<{ cert: string; key: string }>, says: string]>([
    ["another name", () => authority.issue({ type: "dns", value: "other.test" }), "was issued for another name"],
    ["the target's name", () => authority.issue({ type: "dns", value: target.host }), "was issued for another name"],
    ["the past", () => authority.issue({ type: "ip", value: "127.0.0.1" }, past()), "has expired"],
    [
      "an unknown authority",
      async () => (await createTestAuthority()).issue({ type: "ip", value: "127.0.0.1" }),
      "comes from an authority that is not trusted",
    ],
    ["itself", () => createTestAuthority(), "is self-signed and not trusted"],
  ])("a TLS proxy with a certificate of %s", async ([, certificate, says]) => {
    const { cert, key } = await certificate();
    const proxy = await serving(() => {}, { cert, key });
    const error = await failure(through(proxy, { url: { scheme: "https", credentials } }));
    expect(error.code).toBe("unauthenticated");
    expect(error.message).toContain(`the certificate of the proxy 127.0.0.1:${proxy.port}`);
    expect(error.message).toContain("on the way to control.example.com:3024");
    expect(error.message).toContain(says);
  });

  test("https:// to a proxy that speaks plain HTTP", async () => {
    const proxy = await serving((socket) => void socket.once("data", () => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")));
    const error = await failure(through(proxy, { url: { scheme: "https" } }));
    expect([error.code, error.hint]).toEqual(["unavailable", "if the proxy does not speak TLS, write http:// in HTTPS_PROXY"]);
    expect(error.message).toContain("does not speak TLS on this port");
  });

  test("http:// to a proxy that speaks TLS", async () => {
    const proxy = await serving(() => {}, await authority.issue({ type: "ip", value: "127.0.0.1" }));
    const error = await failure(through(proxy));
    expect(error.code).toBe("unavailable");
    expect(error.message).toContain(`127.0.0.1:${proxy.port}`);
  });
});

async function failure(attempt: Promise<unknown>): Promise<PlatformError> {
  try {
    await attempt;
  } catch (thrown) {
    if (thrown instanceof PlatformError) return thrown;
    throw thrown;
  }
  throw new Error("not refused");
}

/** Writes in pieces, each in its own packet as far as the kernel allows. */
function drip(socket: Socket, text: string, size = 1, after: () => void = () => {}): void {
  socket.setNoDelay(true);
  if (text === "") after();
  else socket.write(text.slice(0, size), () => setImmediate(() => drip(socket, text.slice(size), size, after)));
}

function flood(unit: string): (socket: Socket) => void {
  return (socket) => {
    socket.write("HTTP/1.1 100 Continue");
    const block = unit.repeat(1000);
    const more = (): void => {
      if (!socket.destroyed) socket.write(block, more);
    };
    more();
  };
}
