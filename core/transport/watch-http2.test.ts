import { type EventEmitter, once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect, createServer, type ServerHttp2Session } from "node:http2";
import { createConnection, createServer as createNetServer } from "node:net";
import { type Duplex, duplexPair } from "node:stream";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { silenceLimits, watchHttp2, watchStream } from "./watch-http2.ts";

const { idleMs, answerMs } = silenceLimits;
const lookMs = answerMs / 3;

beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] }));
const opened: Duplex[] = [];
afterEach(() => {
  vi.useRealTimers();
  for (const one of opened.splice(0)) one.destroy();
});

interface Ends {
  readonly session: ClientHttp2Session;
  readonly server: ServerHttp2Session;
  /** From now on nothing arrives at either end, and nothing closes. */
  vanish(): void;
  request(): ClientHttp2Stream;
  /** Once everything sent so far has been answered. */
  settled(): Promise<void>;
}

/** A session whose server begins each response and never ends it. */
async function watched(near: Duplex, far: Duplex): Promise<Ends> {
  const [inner, outer] = duplexPair();
  opened.push(near, far, inner, outer);
  far.on("data", (chunk) => outer.write(chunk)).on("error", () => {});
  outer.on("data", (chunk) => far.write(chunk));
  const serving = createServer().on("stream", (stream) => {
    stream.on("error", () => {});
    stream.respond({ ":status": 200 });
  });
  const began = once(serving, "session") as Promise<[ServerHttp2Session]>;
  serving.emit("connection", inner);
  const session = connect("http://server.invalid", { createConnection: () => near });
  watchHttp2({ session, socket: near, peer: "the server" });
  const [[server]] = await Promise.all([began, once(session, "remoteSettings")]);
  return {
    session,
    server,
    vanish: () => {
      far.removeAllListeners("data").pause();
      outer.removeAllListeners("data").pause();
    },
    request: () => {
      const stream = session.request({ ":path": "/watch", ":method": "POST" });
      watchStream(stream);
      return stream.on("error", () => {});
    },
    settled: async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      session.ping(() => resolve());
      await promise;
    },
  };
}

/** Once it has closed, with or without an error. */
async function ended(one: EventEmitter): Promise<void> {
  await new Promise<void>((resolve) => void one.once("close", resolve));
}

async function tcpPair(): Promise<[Duplex, Duplex]> {
  const listener = createNetServer();
  await once(listener.listen(0, "127.0.0.1"), "listening");
  const address = listener.address();
  const near = createConnection({ port: address !== null && typeof address === "object" ? address.port : 0, host: "127.0.0.1" });
  const [far] = (await once(listener, "connection")) as [Duplex];
  listener.close();
  return [near, far];
}

const pairs = [
  ["TCP", tcpPair],
  ["a stream in this process", async (): Promise<[Duplex, Duplex]> => duplexPair()],
] as const;

test.each(pairs)("a server that has vanished is given up, over %s", async (_name, pair) => {
  const { session, vanish, request, settled } = await watched(...(await pair()));
  const open = request();
  await once(open, "response");
  await settled();
  vi.advanceTimersByTime(idleMs);
  vanish();
  const [failed, closed] = [ended(open), ended(session)];
  vi.advanceTimersByTime(idleMs + answerMs);
  expect(session.destroyed).toBe(true);
  expect(open.errored).toMatchObject({ code: "timeout", message: "the server does not answer: nothing has come from it for 45 s" });
  await Promise.all([failed, closed]);
  expect(vi.getTimerCount()).toBe(0);
});

test("a request on a connection that died while it was idle fails within the same time", async () => {
  const { session, vanish, request, settled } = await watched(...(await tcpPair()));
  await settled();
  vanish();
  vi.advanceTimersByTime(10 * idleMs);
  const open = request();
  vi.advanceTimersByTime(idleMs + answerMs - 1);
  expect(session.destroyed).toBe(false);
  vi.advanceTimersByTime(1);
  expect(open.errored).toMatchObject({ code: "timeout" });
});

test("requests that are given up before the limit do not keep a lost connection", async () => {
  const { session, vanish, request, settled } = await watched(...(await tcpPair()));
  await settled();
  vanish();
  const open = request();
  open.close();
  await ended(open);
  vi.advanceTimersByTime(idleMs + answerMs);
  expect(session.destroyed).toBe(true);
});

test("a session whose last write the lost server never takes closes, too", async () => {
  const { session, vanish, request } = await watched(...duplexPair());
  const open = request();
  await once(open, "response");
  vanish();
  open.write(Buffer.alloc(1024 * 1024));
  await new Promise((resolve) => void setImmediate(resolve));
  const closed = ended(session);
  vi.advanceTimersByTime(lookMs + idleMs + answerMs);
  await closed;
});

test.each([
  ["a PING", false, "ping"],
  ["SETTINGS, once it takes no more streams", true, "remoteSettings"],
] as const)("a quiet stream stays open while its server answers %s", async (_name, isLeaving, event) => {
  const { session, server, request, settled } = await watched(...(await tcpPair()));
  const open = request();
  await once(open, "response");
  if (isLeaving) session.close();
  for (let round = 0; round < 3; round += 1) {
    const asked = once(server, event);
    const answered = isLeaving ? once(session, "localSettings") : undefined;
    vi.advanceTimersByTime(idleMs + lookMs);
    await asked;
    await (answered ?? settled());
    expect(open.closed).toBe(false);
  }
});

test("without open streams nothing is sent and no timer runs", async () => {
  const { server, request, settled } = await watched(...(await tcpPair()));
  await settled();
  const asked = vi.fn();
  server.on("ping", asked);
  expect(vi.getTimerCount()).toBe(0);
  const open = request();
  await once(open, "response");
  expect(vi.getTimerCount()).toBe(1);
  open.close();
  await once(open, "close");
  vi.advanceTimersByTime(2 * lookMs);
  expect(vi.getTimerCount()).toBe(0);
  vi.advanceTimersByTime(idleMs);
  await settled();
  expect(asked).toHaveBeenCalledTimes(1);
});
