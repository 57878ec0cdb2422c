import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../../test/world/until.ts";
import { WebUpstream } from "./testing/web-upstream.ts";
import { askRaw, type WebOptions, WebWorld, webDumper } from "./testing/web-world.ts";

const lines = (more: readonly string[] = [], host = "web.test"): string =>
  [
    `GET /ws HTTP/1.1`,
    `Host: ${host}`,
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ...more,
    "",
    "",
  ].join("\r\n");

describe("a WebSocket", () => {
  let world: WebWorld;
  beforeAll(async () => {
    world = await WebWorld.open();
  });
  afterAll(async () => await world[Symbol.asyncDispose]());

  const echo = async (): Promise<WebUpstream> =>
    await WebUpstream.open(undefined, (_request, socket) => {
      socket.write(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-App: 1\r\nSet-Cookie: a=b; Domain=test\r\n\r\nfirst",
      );
      socket.pipe(socket);
    });
  const enter = async (upstream: WebUpstream, options: WebOptions = {}) =>
    await world.enter({ ...options, spec: { uri: upstream.uri, ...options.spec } });

  test("begins when the application agrees, and carries bytes both ways", async () => {
    await using upstream = await echo();
    const { tls } = await enter(upstream);
    tls.write(
      lines(["X_Forwarded_For: 6.6.6.6", "Platform-Jwt-Assertion: forged", "Cookie: __Host-platform_app=x; a=1", "Origin: https://web.test"]),
    );
    let text = "";
    tls.on("data", (chunk: Buffer) => {
      text += String(chunk);
    });
    await until("the greeting is there", () => text.includes("\r\n\r\nfirst"));
    expect(text).toMatch(/^HTTP\/1\.1 101 .*\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-App: 1\r\nSet-Cookie: a=b\r\n\r\nfirst$/s);
    tls.write("second");
    await until("the echo is there", () => text.endsWith("second"));
    expect(upstream.seen[0]?.raw.join("\n")).not.toMatch(/forged|6\.6\.6\.6|platform_app/);
    expect(upstream.values("platform-jwt-assertion")).toHaveLength(1);
    expect(upstream.values("x-forwarded-for")).toEqual(["192.0.2.7"]);
    expect(upstream.values("upgrade")).toEqual(["websocket"]);
    const gone = once([...upstream.sockets][0] ?? tls, "close");
    tls.destroy();
    await gone;
  });

  test("that the application refuses ends with its response, and the connection is not used again", async () => {
    await using upstream = await WebUpstream.open(undefined, (_request, socket) => {
      socket.end("HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n");
    });
    const { tls } = await enter(upstream);
    const answer = await askRaw(tls, `${lines()}GET /second HTTP/1.1\r\nHost: web.test\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 403 Forbidden\r\nConnection: close\r\n\r\nno$/);
    expect(upstream.seen.map(({ url }) => url)).toEqual(["/ws"]);
  });

  test.for<readonly [string, string, string, WebOptions["spec"], number]>([
    ["its own origin", "https://web.test", "web.test", {}, 101],
    ["its own origin at a port", "https://web.test:8443", "web.test:8443", {}, 101],
    ["a local port of tsh", "http://127.0.0.1:9000", "127.0.0.1:9000", {}, 101],
    ["another host", "https://evil.test", "web.test", {}, 403],
    ["another port", "https://web.test:8443", "web.test", {}, 403],
    ["plain HTTP", "http://web.test", "web.test", {}, 403],
    ["no origin that can be named", "null", "web.test", {}, 403],
    ["an origin that the settings list", "https://other.test", "web.test", { cors: corsOf(["https://other.test"]) }, 101],
    ["any origin without credentials", "https://other.test", "web.test", { cors: corsOf(["*"]) }, 403],
    ["any origin with credentials", "https://other.test", "web.test", { cors: { ...corsOf(["*"]), allow_credentials: true } }, 101],
  ])("from %s: %s at %s", async ([, origin, host, spec, status]) => {
    await using upstream = await echo();
    const { tls } = await enter(upstream, { spec: spec ?? {} });
    tls.write(lines([`Origin: ${origin}`], host));
    expect(String((await once(tls, "data"))[0])).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(upstream.seen).toHaveLength(status === 101 ? 1 : 0);
  });

  test("with a body is refused", async () => {
    await using upstream = await echo();
    const { tls } = await enter(upstream);
    expect(await askRaw(tls, `${lines(["Content-Length: 4"])}body`)).toMatch(/^HTTP\/1\.1 400/);
    expect(upstream.seen).toEqual([]);
  });

  // Inside of it the client would state what only the platform may: to an application that takes one of these, it is not a WebSocket.
  test.for([
    ["Upgrade: h2c"],
    ["Upgrade: x, h2c"],
    ["Upgrade: h2c, websocket"],
    ["Upgrade: websocket, h2c"],
    ["Upgrade: websocket,h2c"],
    ["Upgrade: websocket", "Upgrade: h2c"],
    ["Upgrade: h2c", "Upgrade: websocket"],
    ["Upgrade: websocket/13"],
    ["Upgrade: TLS/1.0"],
    ["Upgrade: HTTP/2.0"],
  ])("is not the way to another protocol: a request with %j goes on as one without", async (upgrades) => {
    await using upstream = await WebUpstream.open(undefined, (_request, socket) => {
      socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n");
    });
    const { tls } = await enter(upstream);
    const fields = [
      "Connection: close, Upgrade, HTTP2-Settings",
      ...upgrades,
      "HTTP2-Settings: AAMAAABkAAQAAP__",
      "HTTP2_Settings: AAMAAABkAAQAAP__",
    ];
    const answer = await askRaw(tls, `GET / HTTP/1.1\r\nHost: web.test\r\n${fields.join("\r\n")}\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 200/);
    expect(upstream.names().filter((name) => /upgrade|settings/.test(name))).toEqual([]);
  });

  test("is all that an application may agree to", async () => {
    await using upstream = await WebUpstream.open(undefined, (_request, socket) => {
      socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n");
      socket.pipe(socket);
    });
    const { tls } = await enter(upstream);
    expect(await askRaw(tls, lines(["HTTP2-Settings: AAMAAABkAAQAAP__"]))).toMatch(/^HTTP\/1\.1 502/);
    expect(upstream.names()).not.toContain("http2-settings");
    await until("the application is disconnected", () => upstream.sockets.size === 0);
  });

  test("is cut by a lock", async () => {
    await using upstream = await echo();
    const listeners: Parameters<NonNullable<WebOptions["follow"]>>[0][] = [];
    const { tls, deps } = await enter(upstream, { follow: (listener) => void listeners.push(listener) });
    tls.write(lines());
    await once(tls, "data");
    const ended = once(tls, "close");
    const lock = { kind: "lock", version: "v2", metadata: { name: "l" }, spec: { target: { user: "alice" } } } as const;
    const access = await deps.access.at("");
    for (const listener of listeners) listener({ ...access, locks: [lock] });
    await ended;
    await until("the application is disconnected", () => upstream.sockets.size === 0);
  });

  test("at the dumper comes back, and a ping is answered", async () => {
    const { tls } = await world.enter({ app: webDumper() });
    tls.write(lines());
    expect(String((await once(tls, "data"))[0])).toMatch(/^HTTP\/1\.1 101 .*Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=/s);
    tls.write(Buffer.concat([masked(0x81, "hello"), masked(0x89, "!")]));
    let held = Buffer.alloc(0);
    tls.on("data", (chunk: Buffer) => {
      held = Buffer.concat([held, chunk]);
    });
    const wanted = Buffer.from("\u0081\u0005hello\u008a\u0001!", "latin1");
    await until("both are there", () => held.length >= wanted.length);
    expect(held).toEqual(wanted);
  });
});

function corsOf(origins: readonly string[]) {
  return { allowed_origins: [...origins], allowed_methods: [], allowed_headers: [], exposed_headers: [] };
}

function masked(first: number, text: string): Buffer {
  const payload = Buffer.from(text).map((byte, index) => byte ^ (index & 3));
  return Buffer.concat([Buffer.from([first, 0x80 | payload.length, 0, 1, 2, 3]), payload]);
}
