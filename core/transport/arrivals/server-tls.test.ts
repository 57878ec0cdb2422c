import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { duplexPair } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { type ConnectionOptions, connect as connectTls, createSecureContext, getCiphers, type TLSSocket } from "node:tls";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { Attempt } from "../dial/attempt.ts";
import { startTls } from "../dial/start-tls.ts";
import { createTestAuthority } from "../dial/testing/test-certificate.ts";
import { hostContext, terminateTls, webContext } from "./server-tls.ts";

afterEach(() => vi.useRealTimers());

/** A client's first message. */
async function clientHello(): Promise<Buffer> {
  const [near, far] = duplexPair();
  const tls = connectTls({ socket: near, servername: "a.test", ALPNProtocols: ["http/1.1"] });
  tls.on("error", () => {});
  const [hello] = (await once(far, "data")) as [Buffer];
  tls.destroy();
  return hello;
}

test("the server does not wait for a client that leaves during the handshake, such as one that does not trust the certificate", async () => {
  const { cert, key } = await (await createTestAuthority()).issue({ type: "dns", value: "a.test" });
  // An HTTP proxy on the way passes the end of one direction on, and keeps the other one open.
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connect({ port: (server.address() as AddressInfo).port, host: "127.0.0.1", allowHalfOpen: true });
  client.on("error", () => {}).resume();
  const [accepted] = (await once(server, "connection")) as [Socket];
  client.end(await clientHello());
  const begun = performance.now();
  const handshake = terminateTls(accepted, { context: createSecureContext({ cert, key }), alpn: "http/1.1" });
  await expect(handshake).rejects.toMatchObject({ code: "unavailable", message: expect.stringContaining("the client ended the connection") });
  expect(performance.now() - begun).toBeLessThan(5_000);
  client.destroy();
  server.close();
});

/** A connection, and TLS over both of its ends. */
async function connected(kind: "socket" | "stream") {
  const authority = await createTestAuthority();
  const { cert, key } = await authority.issue({ type: "dns", value: "a.test" });
  const [near, far] = kind === "socket" ? await socketPair() : duplexPair();
  const options = { alpn: ["echo"], servername: "a.test", ca: [authority.cert] };
  using attempt = new Attempt({ timeoutMs: 10_000 });
  const [client, server] = await Promise.all([
    startTls(near, options, { attempt, peer: "the test", hint: "" }),
    terminateTls(far, { context: hostContext({ tlsCertificate: cert, tlsPrivateKey: key }), alpn: "echo" }),
  ]);
  return { client: { tls: client, below: near }, server: { tls: server, below: far } };
}

async function socketPair(): Promise<[Socket, Socket]> {
  const server = createServer({ pauseOnConnect: true }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const near = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const [far] = (await once(server, "connection")) as [Socket];
  server.close();
  return [near, far];
}

test.for(["client", "server"] as const)("inside another stream, the %s reads what came before its end, however late it reads", async (slow) => {
  const { client, server } = await connected("stream");
  const [{ tls: reader, below: outer }, { tls: writer }] = slow === "client" ? [client, server] : [server, client];
  // Its data waits in TLS, as it does while the next stream on its way has no room.
  reader.once("data", () => reader.pause());
  writer.write("first");
  await once(reader, "pause");
  writer.end(Buffer.alloc(30_000));
  await once(outer, "end");
  // As a tunnel's stream that its peer has closed.
  outer.destroy();
  await once(outer, "close");
  for (let turns = 0; turns < 10; turns += 1) await turn();
  expect(reader.destroyed).toBe(false);
  const closed = once(reader, "close");
  expect(Buffer.concat((await reader.toArray()) as Buffer[])).toHaveLength(30_000);
  await closed;
});

test.for(["client", "server"] as const)("records of one byte that the %s does not read take little memory, and arrive", async (slow) => {
  const { client, server } = await connected("socket");
  const [{ tls: reader }, { tls: writer }] = slow === "client" ? [client, server] : [server, client];
  const push = vi.spyOn(reader, "push");
  reader.read(0);
  let sent = 0;
  // The reader has room for more.
  for (; push.mock.results.at(-1)?.value !== false; sent += 1) {
    writer.write(Buffer.of(sent % 251));
    await turn();
  }
  push.mockRestore();
  // Each of these has a buffer of its own.
  expect(reader.readableLength).toBeLessThan(4_096);
  writer.end();
  const got = Buffer.concat((await reader.toArray()) as Buffer[]);
  expect(got.equals(Buffer.from(Array.from({ length: sent }, (_, index) => index % 251)))).toBe(true);
});

const failures = (["socket", "stream"] as const).flatMap((kind) =>
  (["client", "server"] as const).flatMap((side) => (["a spoilt record", "an error below"] as const).map((how) => ({ kind, side, how }))),
);

test.for(failures)("over a $kind, $how after the handshake ends the $side's TLS and what is below it", async ({ kind, side, how }) => {
  const ends = await connected(kind);
  const [one, other] = side === "client" ? [ends.client, ends.server] : [ends.server, ends.client];
  for (const stream of [one.tls, one.below, other.tls]) stream.on("error", () => {});
  other.tls.resume();
  one.tls.write("first");
  await once(other.tls, "data");
  const closed = [one.tls, one.below].map((stream) => new Promise((resolve) => stream.once("close", resolve)));
  const learnt = new Promise((resolve) => other.tls.once("end", resolve).once("close", resolve));
  if (how === "an error below") one.below.emit("error", new Error("lost"));
  else other.below.write(Buffer.concat([Buffer.from([0x17, 3, 3, 0, 64]), Buffer.alloc(64)]));
  await Promise.all([...closed, learnt]);
});

test("inside a stream that has closed, a reader that takes nothing for five minutes is cut off, and one that takes some is not", async () => {
  const { client, server } = await connected("stream");
  client.tls.once("data", () => client.tls.pause());
  server.tls.write("first");
  await once(client.tls, "pause");
  server.tls.end(Buffer.alloc(30_000));
  await once(client.below, "end");
  await vi.waitUntil(() => client.tls.readableLength === 30_000, { timeout: 20_000 });
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  client.below.destroy();
  await once(client.below, "close");
  for (let times = 0; times < 3; times += 1) {
    expect((client.tls.read(5_000) as Buffer).length).toBe(5_000);
    vi.advanceTimersByTime(300_000);
    expect(client.tls.destroyed).toBe(false);
  }
  const closed = once(client.tls, "close");
  vi.advanceTimersByTime(300_000);
  await closed;
  expect(client.tls.readableEnded).toBe(false);
});

test("a stream that closes without an end ends TLS once its reader has taken everything", async () => {
  const { client, server } = await connected("stream");
  client.tls.once("data", () => client.tls.pause());
  server.tls.write("first");
  await once(client.tls, "pause");
  server.tls.write(Buffer.alloc(10_000));
  await vi.waitUntil(() => client.tls.readableLength === 10_000, { timeout: 20_000 });
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  client.below.destroy();
  await once(client.below, "close");
  vi.advanceTimersByTime(10_000);
  expect(client.tls.destroyed).toBe(false);
  expect((client.tls.read() as Buffer).length).toBe(10_000);
  const closed = once(client.tls, "close");
  vi.advanceTimersByTime(1_000);
  await closed;
});

const servers: Server[] = [];
const ports = { web: 0, host: 0 };

beforeAll(async () => {
  const { cert, key } = await (await createTestAuthority()).issue({ type: "dns", value: "a.test" });
  const contexts = { web: webContext({ cert, key }), host: hostContext({ tlsCertificate: cert, tlsPrivateKey: key }) };
  for (const kind of ["web", "host"] as const) {
    const server = createServer({ pauseOnConnect: true }, (socket) => {
      terminateTls(socket, { context: contexts[kind], alpn: "echo" }).then(
        (tls) => tls.on("error", () => {}).pipe(tls),
        () => {},
      );
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    servers.push(server);
    ports[kind] = (server.address() as AddressInfo).port;
  }
});
afterAll(() => {
  for (const server of servers) server.close();
});

/** Undefined when the handshake failed. */
async function handshake(port: number, options: ConnectionOptions): Promise<TLSSocket | undefined> {
  const socket = connectTls({ port, host: "127.0.0.1", servername: "a.test", ALPNProtocols: ["echo"], rejectUnauthorized: false, ...options });
  return await new Promise((resolve) => {
    socket.once("secureConnect", () => resolve(socket)).once("error", () => resolve(undefined));
  });
}

test("in TLS 1.2 the web port accepts only suites with ECDHE and AEAD", async () => {
  const taken: string[] = [];
  for (const name of getCiphers().filter((one) => !one.startsWith("tls_"))) {
    const socket = await handshake(ports.web, { maxVersion: "TLSv1.2", ciphers: `${name.toUpperCase()}:@SECLEVEL=0` });
    if (socket !== undefined) taken.push(name);
    socket?.destroy();
  }
  // Those with an RSA certificate's name need one.
  expect(taken.sort()).toEqual(["ecdhe-ecdsa-aes128-gcm-sha256", "ecdhe-ecdsa-aes256-gcm-sha384", "ecdhe-ecdsa-chacha20-poly1305"]);
});

test("a client cannot renegotiate", async () => {
  const socket = await handshake(ports.web, { maxVersion: "TLSv1.2" });
  if (socket === undefined) throw new Error("no handshake");
  const refused = new Promise<Error | null>((resolve) => {
    socket.once("error", resolve);
    socket.renegotiate({ rejectUnauthorized: false }, resolve);
  });
  expect(await refused).toMatchObject({ message: expect.stringMatching(/no renegotiation|renegotiat|handshake failure/i) });
  socket.destroy();
});

test.for([
  ["web", "TLSv1.3", "TLSv1.3"],
  ["web", "TLSv1.2", "TLSv1.2"],
  ["web", "TLSv1.1", undefined],
  ["host", "TLSv1.3", "TLSv1.3"],
  ["host", "TLSv1.2", undefined],
] as const)("the %s port with a client of %s speaks %s", async ([kind, version, expected]) => {
  const socket = await handshake(ports[kind], { minVersion: version, maxVersion: version, ciphers: "DEFAULT:@SECLEVEL=0" });
  expect(socket?.getProtocol() ?? undefined).toBe(expected);
  socket?.destroy();
});
