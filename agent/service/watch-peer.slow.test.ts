import { once } from "node:events";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { roleServerName } from "../../core/transport/alpn.ts";
import { insideAuthorities } from "../../test/inside/authorities.ts";
import { deafen } from "../../test/inside/deafen.ts";
import { socketPair } from "../../test/inside/socket-pair.ts";
import { until } from "../../test/world/until.ts";
import { dialApp } from "../app/dial-app.ts";
import { offeredApp } from "../app/offered-app.ts";
import { appTargets } from "../app/target-policy.ts";
import { dialServer } from "../db/server-road.ts";
import { ApiServer } from "../kube/upstream/api-server.ts";
import { watchPeer } from "./watch-peer.ts";

/** What each test has opened. */
let over: AbortController;
const servers: Server[] = [];
const sockets = new Set<Socket>();
beforeEach(() => {
  over = new AbortController();
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
});
afterEach(() => {
  vi.useRealTimers();
  over.abort();
  for (const socket of sockets) socket.destroy();
  for (const server of servers.splice(0)) server.close();
});

function kept(socket: Socket): Socket {
  sockets.add(socket.on("error", () => {}));
  return socket.once("close", () => sockets.delete(socket));
}

async function listening(server: Server): Promise<number> {
  servers.push(server.on("connection", kept));
  await once(server.listen(0, "127.0.0.1"), "listening");
  return (server.address() as AddressInfo).port;
}

async function watchedPair(): Promise<{ near: Socket; far: Socket }> {
  const [near, far] = (await socketPair()).map(kept) as [Socket, Socket];
  return { near: watchPeer(near, "the test"), far };
}

/** Looks at every connection until what they wait for has come, as often as the kernel takes for three packets in vain. */
async function lookUntil(what: string, isDone: () => boolean): Promise<void> {
  await until(what, () => {
    vi.advanceTimersByTime(15_000);
    return isDone();
  });
}

const gone = { code: "timeout", message: expect.stringContaining("does not answer: nothing has come from it for 45 s") };

/** More than all buffers between the two ends take. */
async function fill({ near, far }: { near: Socket; far: Socket }): Promise<void> {
  far.pause();
  let before = -1;
  await until("the peer's window is shut", () => {
    if (near.writableLength < 1024 * 1024) near.write(Buffer.alloc(1024 * 1024));
    const isStill = near.writableLength === before;
    before = near.writableLength;
    return isStill;
  });
}

test("a peer that has vanished is given up; one that is quiet, and one that does not read, are not", async () => {
  const [lost, lostUnread, quiet, unread] = await Promise.all([watchedPair(), watchedPair(), watchedPair(), watchedPair()]);
  await Promise.all([fill(lostUnread), fill(unread)]);
  quiet.near.write("a request whose answer takes long");
  await once(quiet.far.resume(), "data");
  for (const { far } of [lost, lostUnread]) deafen(far);
  lost.near.write("x");
  await lookUntil("both are given up", () => lost.near.destroyed && lostUnread.near.destroyed);
  expect([lost.near.errored, lostUnread.near.errored]).toMatchObject([gone, gone]);
  vi.advanceTimersByTime(600_000);
  expect([quiet.near.destroyed, unread.near.destroyed]).toEqual([false, false]);
  quiet.far.write("answer");
  await once(quiet.near, "data");
  const sent = unread.near.bytesWritten;
  unread.far.resume();
  await until("the rest arrives", () => unread.far.bytesRead === sent);
});

test("applications, databases' servers and API servers that vanish are given up", async () => {
  const port = await listening(createServer());
  const spec = { uri: `tcp://127.0.0.1:${port}` };
  const address = { host: "127.0.0.1", port };
  const database = { name: "orders", protocol: "postgres", uri: `127.0.0.1:${port}`, addresses: [address], options: new Map() } as const;
  const tls = { mode: "verify-full", caPem: [], trustsSystem: false } as const;
  const targets = [
    await dialApp(offeredApp("shell", {}, spec), appTargets({ unix: [] }), over.signal),
    await dialServer({ ...database, labels: {}, origin: "static", tls }, address, over.signal),
  ];
  await until("they have arrived", () => sockets.size === targets.length);
  for (const socket of sockets) deafen(socket);
  for (const socket of targets) kept(socket).write("x");
  await lookUntil("they are given up", () => targets.every((socket) => socket.destroyed));
  expect(targets.map(({ errored }) => errored)).toMatchObject([gone, gone]);
});

test("an API server that speaks HTTP/1.1 alone and vanishes: requests and upgrades end, and the next request opens a new connection", async () => {
  const own = await insideAuthorities();
  const { tlsCertificate: cert, tlsPrivateKey: key } = await own.host("api");
  const server = createHttpsServer({ cert, key }, (_request, response) => void response.end("hello"));
  server.on("upgrade", (_request, socket) => socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: test\r\n\r\n"));
  const port = await listening(server);
  const login = { ca: { value: own.hostCaPem }, account: { kind: "none" } } as const;
  const where = { address: { host: "127.0.0.1", port }, authority: `127.0.0.1:${port}`, basePath: "", serverName: roleServerName("node") };
  const api = new ApiServer({ name: "prod", ...where, isInsecure: false, login }, { env: {} }, over.signal);
  const { signal } = over;
  const request = { method: "GET", target: "/x", headers: [], body: undefined, trailers: () => [], signal, onInform: () => {}, onData: () => {} };
  const send = async (method: string): Promise<string> => {
    const { body } = await api.send({ ...request, method });
    return String(Buffer.concat((await body.toArray()) as Buffer[]));
  };
  expect(await send("GET")).toBe("hello");
  const answer = await api.upgrade(request, "test");
  if (!("upgraded" in answer)) throw new Error("the server did not agree");
  for (const socket of sockets) deafen(socket);
  const closed = new Promise<void>((resolve) => answer.upgraded.once("close", resolve));
  answer.upgraded.write("x");
  let ended: unknown;
  send("DELETE").catch((thrown: unknown) => {
    ended = thrown;
  });
  await lookUntil("both are given up", () => ended !== undefined && answer.upgraded.destroyed);
  await closed;
  expect([ended, answer.upgraded.errored]).toMatchObject([gone, gone]);
  expect(await send("GET")).toBe("hello");
});
