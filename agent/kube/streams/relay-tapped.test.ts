import { once } from "node:events";
import { Duplex, duplexPair } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { gatherPieces, unreadBytes } from "../../../core/node-internals/gather-pieces.ts";
import { relayTapped } from "./relay-tapped.ts";
import type { StreamTap } from "./stream-tap.ts";

const blind: StreamTap = { fromClient: () => undefined, fromServer: () => undefined, farewell: () => undefined, close: () => {} };
const life = { tap: blind, signal: new AbortController().signal, onBytes: () => {} };

test.each(["client", "upstream"] as const)("a relay whose %s has closed before it begins is over, and closes the other one", async (side) => {
  const [client, user] = duplexPair();
  const ends = { client, upstream: duplexPair()[0] };
  user.resume();
  ends[side].destroy();
  await once(ends[side], "close");
  expect(await relayTapped({ ...ends, ...life })).toBeUndefined();
  expect([ends.client.destroyed, ends.upstream.destroyed]).toEqual([true, true]);
});

test("the end of a stream that came before the relay is passed on", async () => {
  const [client, user] = duplexPair();
  const [upstream, server] = duplexPair();
  server.end();
  await once(upstream.resume(), "end");
  const over = relayTapped({ client, upstream, ...life });
  await once(user.resume(), "end");
  user.end();
  expect(await over).toBeUndefined();
});

test("a client shows why the relay ends before its connection does", async () => {
  const [client, user] = duplexPair();
  const over = new AbortController();
  const tap = { ...blind, farewell: (reason: string) => Buffer.from(reason), shownMs: 60_000 };
  const relayed = relayTapped({ client, upstream: duplexPair()[0], ...life, tap, signal: over.signal });
  over.abort(new PlatformError("denied", "laptop stolen"));
  const [shown] = (await once(user, "data")) as [Buffer];
  expect([shown.toString(), client.writableEnded]).toEqual(["laptop stolen", false]);
  user.end();
  expect(await relayed).toMatchObject({ code: "denied" });
  expect(client.destroyed).toBe(true);
});

test("a client that has ended its half gets the reason as well", async () => {
  const [client, user] = duplexPair();
  const over = new AbortController();
  const tap = { ...blind, farewell: (reason: string) => Buffer.from(reason), shownMs: 60_000 };
  const relayed = relayTapped({ client, upstream: duplexPair()[0], ...life, tap, signal: over.signal });
  const got = text(user);
  user.end();
  await once(client, "end");
  over.abort(new PlatformError("denied", "laptop stolen"));
  expect(await relayed).toMatchObject({ code: "denied" });
  expect(await got).toBe("laptop stolen");
});

test("what a server sent before its end is not lost when the platform ends the relay", async () => {
  const taken = Promise.withResolvers<() => void>();
  const pieces: string[] = [];
  const write = (piece: Buffer, _: unknown, done: () => void): void => {
    if (pieces.push(piece.toString()) === 1) taken.resolve(done);
    else done();
  };
  const client = new Duplex({ read: () => {}, write });
  const [upstream, server] = duplexPair();
  const over = new AbortController();
  const tap = { ...blind, farewell: (reason: string) => Buffer.from(reason) };
  const relayed = relayTapped({ client, upstream, ...life, tap, signal: over.signal });
  const errors: unknown[] = [];
  client.on("error", (error) => errors.push(error));
  server.write("one");
  const done = await taken.promise;
  server.end("two");
  await expect.poll(() => client.writableEnded).toBe(true);
  over.abort(new PlatformError("denied", "laptop stolen"));
  setImmediate(done);
  expect(await relayed).toMatchObject({ code: "denied" });
  expect([pieces, errors]).toEqual([["one", "two"], []]);
});

test("single bytes do not wait by the thousand for an end that takes nothing", async () => {
  const stuck = new Duplex({ read: () => {}, write: () => {} });
  const client = gatherPieces(new Duplex({ read: () => {}, write: (_piece, _encoding, done) => done() }));
  const over = relayTapped({ client, upstream: stuck, ...life });
  for (let sent = 0; sent < 10_000; sent += 1) {
    client.push(Buffer.of(1));
    if (sent % 100 === 0) await new Promise(setImmediate);
  }
  expect([stuck.writableLength, unreadBytes(client)]).toEqual([1_024, 10_000 - 1_024]);
  stuck.destroy();
  await over;
});
