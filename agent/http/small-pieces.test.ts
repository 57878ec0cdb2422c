import { once } from "node:events";
import { connect as connectHttp2, createServer as createHttp2Server } from "node:http2";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { Duplex, duplexPair, Readable } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { gatherPieces, unreadBytes } from "../../core/node-internals/gather-pieces.ts";
import { tlsPair } from "../../test/inside/tls-pair.ts";
import { copyBody } from "./copy-body.ts";
import type { UpstreamRequest } from "./exchange.ts";
import type { HttpHandlers } from "./http-handlers.ts";
import { serveHttp1 } from "./serve-http1.ts";
import { serveHttp2 } from "./serve-http2.ts";
import { UpstreamHttp1 } from "./upstream-http1.ts";
import { openHttp2, sendHttp2 } from "./upstream-http2.ts";

/* Bodies in pieces of one byte, each of which takes hundreds of bytes of memory while it waits. */

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

const most = 10_000;

/** A body that has come in single bytes. */
function singleBytes(): Readable {
  const body = gatherPieces(new Readable({ read: () => {} }));
  for (let sent = 0; sent < most; sent += 1) body.push(Buffer.of(1));
  return body;
}

/** Whether unread single bytes of this body are put together. */
function puts(body: Readable | undefined): boolean {
  if (body === undefined) throw new Error("no body");
  for (let sent = 0; sent < most; sent += 1) body.push(Buffer.of(1));
  return unreadBytes(body) >= most && body.readableLength < 4_096;
}

/** Handlers that hand over the body of a request, and its end. */
function receiving() {
  const { promise: body, resolve } = Promise.withResolvers<Readable | undefined>();
  const handlers: HttpHandlers = {
    exchange: async (asked) => resolve(asked.body),
    upgrade: async () => {},
    refusal: (status) => ({ head: { status, message: "", headers: [] }, body: Buffer.alloc(0) }),
  };
  return { handlers, body };
}

const requestOf = (more: Partial<UpstreamRequest>): UpstreamRequest => ({
  ...{ method: "GET", target: "/", host: "a.test", headers: [], body: undefined, trailers: () => [] },
  ...{ signal: new AbortController().signal, onInform: () => {}, onData: () => {}, ...more },
});

/** Resolves once a body has been left alone for a while. */
async function settled(body: Readable): Promise<number> {
  for (let before = -1; before !== unreadBytes(body); ) {
    before = unreadBytes(body);
    for (let turns = 0; turns < 50; turns += 1) await turn();
  }
  return unreadBytes(body);
}

test("a request's body over HTTP/1.1 is put together", async () => {
  const [near, far] = duplexPair();
  ends.push(() => far.destroy());
  const { handlers, body } = receiving();
  void serveHttp1(far, handlers);
  near.write("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 100000\r\n\r\n");
  expect(puts(await body)).toBe(true);
});

test("a request's body over HTTP/2 is put together", async () => {
  const { client, server } = await tlsPair("h2");
  ends.push(() => client.destroy());
  const { handlers, body } = receiving();
  void serveHttp2(server, handlers);
  const session = connectHttp2("https://kube.test", { createConnection: () => client }).on("error", () => {});
  session.request({ ":method": "POST", ":path": "/" }, { endStream: false }).on("error", () => {});
  expect(puts(await body)).toBe(true);
});

/** A server of bytes, and what reaches it. */
async function upstreamOf(serve: (socket: Socket) => void) {
  const server = createServer(serve).listen(0, "127.0.0.1");
  await once(server, "listening");
  ends.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

test("a response's body over HTTP/1.1 is put together", async () => {
  const port = await upstreamOf((socket) => {
    ends.push(() => socket.destroy());
    socket.on("error", () => {}).write("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
  });
  const road = async () => ({ socket: connect(port, "127.0.0.1"), selected: undefined });
  const upstream = new UpstreamHttp1(road, { keeps: true, most: { open: 1, kept: 1 } });
  ends.push(() => upstream.close());
  const { body } = await upstream.send(requestOf({}));
  expect(puts(body)).toBe(true);
  body.destroy();
});

test("a request's body over HTTP/1.1 waits for a server that takes nothing, all but a thousand pieces of it", async () => {
  const stuck = new Duplex({ highWaterMark: 1_000_000, read: () => {}, write: () => {} });
  const upstream = new UpstreamHttp1(async () => ({ socket: stuck, selected: undefined }), { keeps: true, most: { open: 1, kept: 1 } });
  const body = singleBytes();
  upstream.send(requestOf({ method: "POST", body })).catch(() => {});
  await once(stuck, "newListener");
  expect(await settled(body)).toBeGreaterThan(most - 5_000);
  stuck.destroy();
  upstream.close();
});

test("over HTTP/2, a response's body is put together, and a request's body waits for its window", async () => {
  const server = createHttp2Server({ settings: { initialWindowSize: 0 } });
  server.on("stream", (stream) => stream.on("error", () => {}).respond({ ":status": 200 }));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const session = await openHttp2({ socket: connect(port, "127.0.0.1"), selected: "h2" }, { scheme: "http", peer: "the server" });
  ends.push(() => {
    session.destroy();
    server.close();
  });
  const answer = await sendHttp2(session, requestOf({}), "http");
  expect(puts(answer.body)).toBe(true);
  const body = singleBytes();
  const sent = await sendHttp2(session, requestOf({ method: "POST", body }), "http");
  expect(await settled(body)).toBeGreaterThan(most - 5_000);
  for (const one of [answer.body, sent.body]) one.on("error", () => {}).destroy();
});

test("a body is copied to a client that takes nothing up to a thousand pieces", async () => {
  const stuck = new Duplex({ highWaterMark: 1_000_000, read: () => {}, write: () => {} });
  const body = singleBytes();
  const copied = copyBody(body, stuck, () => {});
  expect(await settled(body)).toBeGreaterThan(most - 5_000);
  stuck.destroy();
  await expect(copied).rejects.toThrow();
});
