import "reflect-metadata";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { duplexPair } from "node:stream";
import { connect as connectTls, createSecureContext } from "node:tls";
import * as x509 from "@peculiar/x509";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { silentLog } from "../../core/log/log.ts";
import { FailedArrivals, HalfOpen } from "../../core/transport/arrivals/half-open.ts";
import { type ArrivedSocket, type Listener, listen } from "../../core/transport/arrivals/listen.ts";
import { terminateTls } from "../../core/transport/arrivals/server-tls.ts";
import { ListenSockets } from "../../core/transport/listen-sockets.ts";
import { type FrontDoorOptions, type Handler, receive } from "./front-door.ts";

let certificate: { cert: string; key: string };
beforeAll(async () => {
  const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const made = await x509.X509CertificateGenerator.createSelfSigned({ name: "CN=door", keys, signingAlgorithm: algorithm });
  const pkcs8 = Buffer.from(await crypto.subtle.exportKey("pkcs8", keys.privateKey)).toString("base64");
  certificate = { cert: made.toString("pem"), key: `-----BEGIN PRIVATE KEY-----\n${pkcs8}\n-----END PRIVATE KEY-----\n` };
});

const stop: (() => void)[] = [];
afterEach(() => {
  for (const undo of stop.splice(0)) undo();
});

/** A door whose handlers say their name. */
async function openDoor(limit = 100): Promise<{ port: number; halfOpen: HalfOpen; take: (socket: ArrivedSocket) => void }> {
  const says =
    (name: string): Handler =>
    async ({ socket, established, hello }) => {
      const tls = await terminateTls(socket, { context: createSecureContext(certificate), alpn: hello.alpn[0] ?? "none" });
      established();
      tls.end(`${name}\n`);
      tls.resume();
    };
  const halfOpen = new HalfOpen(limit);
  const failed = new FailedArrivals({ log: silentLog, clock: () => performance.now() });
  const controller = new AbortController();
  const table = new Map([["platform-stream", says("stream")]]);
  const sockets = new Set<Socket>();
  const postgres: FrontDoorOptions["postgres"] = async (arrival) => void arrival.socket.end("postgres\n");
  const take = (socket: ArrivedSocket): void =>
    void receive(socket, { table, web: says("web"), postgres, halfOpen, failed, log: silentLog, signal: controller.signal });
  const listener: Listener = await listen({
    address: { host: "127.0.0.1", port: 0 },
    purpose: "web",
    sockets: new ListenSockets(),
    log: silentLog,
    maxConnections: 20_000,
    onSocket: (socket) => {
      sockets.add(socket);
      take(socket);
    },
  });
  stop.push(() => {
    controller.abort();
    for (const socket of sockets) socket.destroy();
    void listener.close();
  });
  return { port: listener.address.port, halfOpen, take };
}

async function textOf(stream: NodeJS.ReadableStream): Promise<string> {
  let text = "";
  for await (const chunk of stream) text += String(chunk);
  return text;
}

function plain(port: number): Socket {
  const socket = connect({ host: "127.0.0.1", port });
  socket.on("error", () => {});
  stop.push(() => socket.destroy());
  return socket;
}

function secure(port: number, protocols: string[]): Promise<string> {
  return textOf(connectTls({ host: "127.0.0.1", port, rejectUnauthorized: false, ALPNProtocols: protocols }));
}

describe("the front door", () => {
  test.for([
    { protocols: ["platform-stream"], handler: "stream\n" },
    { protocols: ["unknown", "platform-stream"], handler: "stream\n" },
    { protocols: ["http/1.1"], handler: "web\n" },
    { protocols: [], handler: "web\n" },
  ])("hands $protocols to $handler", async ({ protocols, handler }) => {
    const { port, halfOpen } = await openDoor();
    expect(await secure(port, protocols)).toBe(handler);
    expect(halfOpen.size).toBe(0);
  });

  test("tells an SSH client in an SSH-like line to use TLS", async () => {
    const { port } = await openDoor();
    const socket = plain(port);
    socket.write("SSH-2.0-OpenSSH_9.2\r\n");
    expect(await textOf(socket)).toMatch(/^This port speaks TLS\..*tsh ssh/);
  });

  test("tells a plain HTTP client to use https", async () => {
    const { port } = await openDoor();
    const socket = plain(port);
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    expect(await textOf(socket)).toMatch(/^HTTP\/1\.1 400 .*https:\/\//s);
  });

  test.for(["0000000804d2162f", "0000000804d21630", "0000001004d2162e0000002a01020304"])(
    "hands a client of PostgreSQL, which begins without TLS with %s, on with its bytes",
    async (first) => {
      const { port } = await openDoor();
      const socket = plain(port);
      for (const byte of Buffer.from(first, "hex")) socket.write(Buffer.of(byte));
      expect(await textOf(socket)).toBe("postgres\n");
    },
  );

  test.for(["\x00\x00\x00\x00\x00\x00\x00\x00", "\x16\x03\x01\x00\x00", "hello there", "\x16\x03\x01\x40\x00\x01\xff\xff\xff"])(
    "closes on %j",
    async (garbage) => {
      const { port } = await openDoor();
      const socket = plain(port);
      socket.write(Buffer.from(garbage, "latin1"));
      expect(await textOf(socket)).toBe("");
    },
  );

  test("takes a hello that comes byte by byte", async () => {
    const { port } = await openDoor();
    const through = plain(port);
    await once(through, "connect");
    const { PassThrough, Duplex } = await import("node:stream");
    const outgoing = new PassThrough();
    outgoing.on("data", (chunk: Buffer) => {
      for (const byte of chunk) through.write(Buffer.of(byte));
    });
    const tls = connectTls({
      socket: Duplex.from({ writable: outgoing, readable: through }),
      rejectUnauthorized: false,
      ALPNProtocols: ["platform-stream"],
    });
    expect(await textOf(tls)).toBe("stream\n");
  });

  test("takes a connection inside another one, and counts it for the address of that one until it is through", async () => {
    const { take, halfOpen } = await openDoor(1);
    const inside = (remoteAddress: string) => {
      const [near, far] = duplexPair();
      take(Object.assign(far, { remoteAddress, remotePort: 1 }));
      return { near, far };
    };
    const silent = once(inside("192.0.2.1").far, "close");
    expect(halfOpen.size).toBe(1);
    const second = inside("192.0.2.1").near;
    await silent;
    expect([halfOpen.size, halfOpen.dropped]).toEqual([1, 1]);
    expect(await textOf(connectTls({ socket: second, rejectUnauthorized: false, ALPNProtocols: ["platform-stream"] }))).toBe("stream\n");
    expect(halfOpen.size).toBe(0);
  });

  test("drops the oldest silent connection beyond the limit and still serves", async () => {
    const { port, halfOpen } = await openDoor(50);
    const silent = Array.from({ length: 50 }, () => plain(port));
    await Promise.all(silent.map((socket) => once(socket, "connect")));
    const oldest = once(silent[0] as Socket, "close");
    (silent[0] as Socket).resume();
    expect(await secure(port, ["platform-stream"])).toBe("stream\n");
    await oldest;
    expect(halfOpen.size).toBeLessThanOrEqual(50);
    expect(halfOpen.dropped).toBeGreaterThan(0);
  });
});
