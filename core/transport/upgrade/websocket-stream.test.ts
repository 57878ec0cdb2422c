import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { buffer, text } from "node:stream/consumers";
import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { someRuns } from "../../../test/fuzz/some-runs.ts";
import { upgradeLimits, upgradeProtocol, websocketStream } from "./websocket-stream.ts";

let server: WebSocketServer;
let port: number;
beforeAll(async () => {
  server = new WebSocketServer({ ...upgradeLimits, host: "127.0.0.1", port: 0 });
  await once(server, "listening");
  port = (server.address() as AddressInfo).port;
});
afterAll(() => {
  for (const socket of server.clients) socket.terminate();
  server.close();
});

async function pair(
  everyMs?: number,
): Promise<{ readonly near: Duplex; readonly far: Duplex; readonly client: WebSocket; readonly accepted: WebSocket }> {
  const client = new WebSocket(`ws://127.0.0.1:${port}/`, [upgradeProtocol], { ...upgradeLimits });
  const [[accepted]] = (await Promise.all([once(server, "connection"), once(client, "open")])) as [[WebSocket], unknown];
  return { near: websocketStream(client, everyMs), far: websocketStream(accepted, everyMs), client, accepted };
}

/** A peer that writes WebSocket frames by hand. */
async function rawPeer(): Promise<{ readonly raw: Socket; readonly far: Duplex; readonly accepted: WebSocket; readonly below: Socket }> {
  const raw = connect(port, "127.0.0.1").on("error", () => {});
  raw.write(
    `GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${randomBytes(16).toString("base64")}\r\n\r\n`,
  );
  const [accepted, { socket: below }] = (await once(server, "connection")) as [WebSocket, IncomingMessage];
  await once(raw, "readable");
  raw.resume();
  return { raw, far: websocketStream(accepted), accepted, below };
}

/** A masked frame (RFC 6455, 5.2) with a mask of zeros; `length`: what it announces. */
function frame(first: number, body: Buffer, length = body.length): Buffer {
  const head =
    length < 126 ? Buffer.of(first, 0x80 | length) : Buffer.of(first, 0x80 | 127, 0, 0, 0, 0, ...[24, 16, 8, 0].map((at) => (length >>> at) & 255));
  return Buffer.concat([head, Buffer.alloc(4), body]);
}

async function ended(stream: Duplex): Promise<Error | undefined> {
  if (!stream.closed) await new Promise((resolve) => void stream.once("close", resolve));
  return stream.errored ?? undefined;
}

describe("a byte stream inside a WebSocket", () => {
  test("carries any bytes both ways, in any division", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 100_000 }), { maxLength: 8 }), async (parts) => {
        const { near, far } = await pair();
        far.pipe(far);
        for (const part of parts) near.write(Buffer.from(part));
        near.end();
        expect(Buffer.compare(await buffer(near), Buffer.concat(parts))).toBe(0);
      }),
      { numRuns: someRuns(20) },
    );
  });

  test("ends one direction alone, and then the other", async () => {
    const { near, far, client, accepted } = await pair();
    near.end("question");
    expect(await text(far)).toBe("question");
    expect(client.readyState).toBe(WebSocket.OPEN);
    far.end("answer");
    expect(await text(near)).toBe("answer");
    expect(await Promise.all([ended(near), ended(far)])).toEqual([undefined, undefined]);
    if (accepted.readyState !== WebSocket.CLOSED) await once(accepted, "close");
  });

  test("gives a slow reader all of it, though the other side is through", async () => {
    const { near, far } = await pair();
    const sent = randomBytes(1_000_000);
    near.end(sent);
    far.end();
    near.resume();
    await ended(near);
    expect(Buffer.compare(await buffer(far), sent)).toBe(0);
  });

  test("holds up the writer while nobody reads", async () => {
    const { near, far, accepted } = await pair();
    const piece = Buffer.alloc(65_536);
    let written = 0;
    const write = async (): Promise<void> => {
      near.write(piece);
      written += piece.length;
      await setImmediate();
    };
    while (!accepted.isPaused) await write();
    const held = far.readableLength;
    expect(held).toBeLessThan(500_000);
    for (let more = 0; more < 300; more += 1) await write();
    expect(far.readableLength).toBe(held);
    expect(near.writableLength).toBeGreaterThan(1_000_000);
    near.end();
    let got = 0;
    for await (const chunk of far) got += (chunk as Buffer).length;
    expect(got).toBe(written);
    far.end();
  });

  test("messages of one byte do not wait by the thousand for a peer that reads nothing, and arrive", async () => {
    const { raw, far, accepted, below } = await rawPeer();
    // As if the kernel had no room.
    below.cork();
    const sent = Buffer.from(Array.from({ length: 10_000 }, (_, index) => index % 251));
    for (let at = 0; at < sent.length; at += 1) {
      far.write(sent.subarray(at, at + 1));
      await setImmediate();
    }
    // Three bytes each.
    expect([accepted.bufferedAmount, far.writableLength]).toEqual([3 * 1_024, sent.length - 1_023]);
    const got: Buffer[] = [];
    raw.on("data", (chunk: Buffer) => got.push(chunk));
    below.uncork();
    while (Buffer.concat(got).length < 3 * sent.length) await once(raw, "data");
    expect(Buffer.concat(got).filter((_, index) => index % 3 === 2)).toEqual(sent);
  });

  test("is cut at both sides when one is destroyed, or the connection breaks", async () => {
    const one = await pair();
    one.near.destroy();
    expect(await ended(one.far)).toMatchObject({ code: "ECONNRESET" });
    const two = await pair();
    two.client.terminate();
    expect(await Promise.all([ended(two.near), ended(two.far)])).toMatchObject([{ code: "ECONNRESET" }, { code: "ECONNRESET" }]);
  });

  test("what came before a cut is still read after an end, and nothing is an end that is not one", async () => {
    const { raw, far } = await rawPeer();
    raw.end(Buffer.concat([frame(0x82, Buffer.from("whole")), frame(0x82, Buffer.alloc(0))]));
    expect(await text(far)).toBe("whole");
    const other = await rawPeer();
    other.raw.end(frame(0x88, Buffer.of(3, 232)));
    expect(await ended(other.far)).toMatchObject({ code: "ECONNRESET" });
  });

  test("pings when it is silent, and answers", async () => {
    const { client, accepted, near } = await pair(10);
    await Promise.all([once(client, "ping"), once(client, "pong"), once(accepted, "ping"), once(accepted, "pong")]);
    near.destroy();
  });

  test.for<readonly [what: string, bytes: Buffer]>([
    ["a text message", frame(0x81, Buffer.from("hello"))],
    ["bytes after the end", Buffer.concat([frame(0x82, Buffer.alloc(0)), frame(0x82, Buffer.of(1))])],
    ["a message beyond the limit, by its length alone", frame(0x82, Buffer.alloc(10), 65_537)],
    ["a message of 2 GiB, by its length alone", frame(0x82, Buffer.alloc(10), 2 ** 31 - 1)],
    ["pieces beyond the limit together", Buffer.concat([frame(0x02, Buffer.alloc(40_000)), frame(0x00, Buffer.alloc(40_000))])],
    ["too many pieces", Buffer.concat([frame(0x02, Buffer.of(0)), ...Array.from({ length: 300 }, () => frame(0x00, Buffer.of(0)))])],
    ["compressed data", frame(0xc2, Buffer.of(1))],
    ["a frame of no kind", frame(0x83, Buffer.of(1))],
    ["data without a mask", Buffer.of(0x82, 1, 0)],
  ])("%s breaks it", async ([, bytes]) => {
    const { raw, far } = await rawPeer();
    far.resume();
    raw.write(bytes);
    expect(await ended(far)).toBeInstanceOf(Error);
    await ended(raw);
  });

  test("a frame that is cut in the middle gives none of its bytes", async () => {
    const { raw, far } = await rawPeer();
    const got: Buffer[] = [];
    far.on("data", (chunk: Buffer) => got.push(chunk));
    raw.end(frame(0x82, Buffer.alloc(100), 200));
    expect(await ended(far)).toMatchObject({ code: "ECONNRESET" });
    expect(got).toEqual([]);
  });

  test("a flood of pings whose answers nobody reads is bounded", async () => {
    const { raw, far, accepted } = await rawPeer();
    far.resume();
    raw.pause();
    const flood = Buffer.concat(Array.from({ length: 2000 }, () => frame(0x89, Buffer.alloc(125))));
    while (!raw.destroyed && !accepted.isPaused && accepted.readyState === WebSocket.OPEN) {
      if (!raw.write(flood)) await Promise.race([once(raw, "drain"), ended(far)]);
    }
    expect(await ended(far)).toMatchObject({ code: "ECONNRESET" });
    expect(accepted.bufferedAmount).toBeLessThan(1_000_000);
  });

  test("any bytes from a peer give data, an end or an error, and never more than it sent", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => {
        const { raw, far } = await rawPeer();
        let got = 0;
        far.on("data", (chunk: Buffer) => (got += chunk.length));
        raw.end(Buffer.from(bytes));
        far.end();
        await ended(far);
        expect(got).toBeLessThanOrEqual(bytes.length);
      }),
      { numRuns: someRuns(50) },
    );
  });
});
