import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createSecureServer, type Http2SecureServer, type Http2ServerResponse, type ServerHttp2Session } from "node:http2";
import { createServer } from "node:https";
import { type AddressInfo, connect, createServer as createNetServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { roleServerName } from "../../../core/transport/alpn.ts";
import { type InsideAuthorities, insideAuthorities } from "../../../test/inside/authorities.ts";
import { type ApiRequest, ApiServer, type ApiServerFacts } from "./api-server.ts";

let own: InsideAuthorities;
let keys: { readonly cert: string; readonly key: string };
const over: AbortController[] = [];
const servers: Server[] = [];
const sockets = new Set<Socket>();
beforeAll(async () => {
  own = await insideAuthorities();
  const host = await own.host("api");
  keys = { cert: host.tlsCertificate, key: host.tlsPrivateKey };
});
afterEach(() => {
  vi.useRealTimers();
  for (const one of over.splice(0)) one.abort();
  for (const socket of sockets) socket.destroy();
  for (const server of servers.splice(0)) server.close();
});
afterAll(() => expect(servers).toEqual([]));

async function apiOf(server: Server, change: Change = {}): Promise<ApiServer> {
  server.on("secureConnection", (socket: TLSSocket) => void kept(socket));
  return apiAt(await listening(server), change);
}

async function listening(server: Server): Promise<number> {
  servers.push(server);
  await once(server.listen(0, "127.0.0.1"), "listening");
  return (server.address() as AddressInfo).port;
}

function kept<T extends Socket>(socket: T): T {
  sockets.add(socket.on("error", () => {}));
  socket.once("close", () => sockets.delete(socket));
  return socket;
}

interface Change {
  readonly ca?: string;
  readonly serverName?: string;
  readonly account?: Extract<ApiServerFacts["login"], { account: unknown }>["account"];
}

function apiAt(port: number, change: Change = {}): ApiServer {
  const stop = new AbortController();
  over.push(stop);
  const { ca = own.hostCaPem, serverName = roleServerName("node"), account = { kind: "none" } } = change;
  const login = { ca: { value: ca }, account };
  const facts = {
    name: "prod",
    address: { host: "127.0.0.1", port },
    authority: `127.0.0.1:${port}`,
    basePath: "/base",
    serverName,
    isInsecure: false,
    login,
  };
  return new ApiServer(facts, { env: {} }, stop.signal);
}

async function get(api: ApiServer, { signal } = new AbortController(), kind: Pick<ApiRequest, "isProxied" | "isOneOfMany"> = {}): Promise<string> {
  const request = { method: "GET", target: "/x", headers: [], body: undefined, trailers: () => [], signal, onInform: () => {}, onData: () => {} };
  const answer = await api.send({ ...request, ...kind });
  let text = "";
  for await (const chunk of answer.body as AsyncIterable<Buffer>) text += String(chunk);
  return `${answer.status} ${text}`;
}

function http2Server(onSession: (session: ServerHttp2Session) => void = () => {}): Http2SecureServer {
  const server = createSecureServer(keys, (request, response) => void response.end(request.url));
  return server.on("session", (session) => onSession(session.on("error", () => {})));
}

test("one connection of HTTP/2 carries the requests of all, below the path of the server", async () => {
  let sessions = 0;
  const api = await apiOf(http2Server(() => (sessions += 1)));
  expect(await Promise.all(Array.from({ length: 20 }, async () => await get(api)))).toEqual(Array.from({ length: 20 }, () => "200 /base/x"));
  expect(sessions).toBe(1);
});

test("a server that ends its connections now and then (GOAWAY) loses no request", async () => {
  let sessions = 0;
  const onSession = (session: ServerHttp2Session): void => {
    sessions += 1;
    session.once("stream", () => session.goaway());
  };
  const api = await apiOf(http2Server(onSession));
  for (let turn = 0; turn < 5; turn += 1) expect(await get(api)).toBe("200 /base/x");
  expect(sessions).toBeGreaterThan(1);
});

test("a server that speaks HTTP/1.1 alone is served as well", async () => {
  const api = await apiOf(createServer(keys, (request, response) => void response.end(request.url)));
  expect(await Promise.all([get(api), get(api)])).toEqual(["200 /base/x", "200 /base/x"]);
});

test("another authority, and another name, are refused", async () => {
  const other = await insideAuthorities();
  const wrong = await apiOf(http2Server(), { ca: other.hostCaPem });
  await expect(get(wrong)).rejects.toMatchObject({ code: "unauthenticated" });
  const named = await apiOf(http2Server(), { serverName: "other.test" });
  await expect(get(named)).rejects.toMatchObject({ code: "unauthenticated" });
});

test("a refusal by the API server makes the agent read its login again, one by a program behind it does not", async () => {
  const folder = await mkdtemp(join(tmpdir(), "api-login-"));
  const file = join(folder, "token");
  await writeFile(file, "first");
  const server = createSecureServer(keys, ({ headers }, response) => void response.writeHead(401).end(headers.authorization ?? ""));
  const api = await apiOf(server, { account: { kind: "token", token: { file } } });
  const never = new AbortController();
  expect(await get(api, never, { isProxied: true })).toBe("401 Bearer first");
  await writeFile(file, "second");
  expect(await get(api, never, { isProxied: true })).toBe("401 Bearer first");
  expect(await get(api)).toBe("401 Bearer first");
  expect(await get(api)).toBe("401 Bearer second");
  await rm(folder, { recursive: true });
});

/** A balancer in front of `port`: `vanish` loses its connections so far, in silence. `arrived` resolves when one that is lost gets something. */
async function balancerBefore(port: number) {
  const arrived = Promise.withResolvers<void>();
  const lanes: { isLost: boolean }[] = [];
  const server = createNetServer((near) => {
    const lane = { isLost: false };
    lanes.push(lane);
    const far = kept(connect(port, "127.0.0.1"));
    kept(near).on("data", (chunk) => void (lane.isLost ? arrived.resolve() : far.write(chunk)));
    far.on("data", (chunk) => void (lane.isLost || near.write(chunk)));
  });
  const vanish = (): void => {
    for (const lane of lanes) lane.isLost = true;
  };
  return { port: await listening(server), lanes, vanish, arrived: arrived.promise };
}

test("an API server that has vanished is given up: its requests fail, and the next one opens a new connection", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const balancer = await balancerBefore(await listening(http2Server()));
  const api = apiAt(balancer.port);
  expect(await get(api)).toBe("200 /base/x");
  balancer.vanish();
  const impatient = new AbortController();
  const [givenUp, ...waiting] = [get(api, impatient), get(api), get(api)].map((one) => one.catch((thrown: unknown) => thrown));
  await balancer.arrived;
  impatient.abort();
  expect(await givenUp).toBeInstanceOf(Error);
  vi.advanceTimersByTime(50_000);
  const timeout = { code: "timeout", message: "the API server of prod does not answer: nothing has come from it for 45 s" };
  expect(await Promise.all(waiting)).toMatchObject([timeout, timeout]);
  expect(await get(api)).toBe("200 /base/x");
  expect(balancer.lanes.length).toBe(2);
});

describe("connections with windows of two sizes, 32 together", () => {
  /** Many requests wait at a server that takes so many at a time over one connection. */
  async function waitingAt(maxConcurrentStreams: number, count: number) {
    const full = Promise.withResolvers<void>();
    const waiting: Http2ServerResponse[] = [];
    let sessions = 0;
    const server = createSecureServer({ ...keys, settings: { maxConcurrentStreams } }, (_request, response) => {
      if (waiting.length >= count) response.end("served");
      else if (waiting.push(response) === count) full.resolve();
    });
    server.on("session", (session) => {
      sessions += 1;
      session.on("error", () => {});
    });
    const api = await apiOf(server);
    const many = Array.from({ length: count }, async () => await get(api, new AbortController(), { isOneOfMany: true }));
    const ended = Promise.allSettled(many);
    await Promise.race([full.promise, Promise.all(many)]);
    return { api, waiting, ended, sessions: () => sessions };
  }

  test("idle ones of one size make room for the other", async () => {
    const { api, waiting, ended, sessions } = await waitingAt(1, 32);
    for (const response of waiting) response.end();
    await ended;
    expect(await Promise.all([get(api), get(api)])).toEqual(["200 served", "200 served"]);
    expect(sessions()).toBe(34);
  });

  test("where none is idle, a request goes over one of the other size that has room", async () => {
    const { api, sessions } = await waitingAt(2, 63);
    expect(await get(api)).toBe("200 served");
    expect(sessions()).toBe(32);
  });

  test("where all are full, a request is refused", async () => {
    const { api } = await waitingAt(1, 32);
    await expect(get(api)).rejects.toMatchObject({ code: "limit" });
  });
});
