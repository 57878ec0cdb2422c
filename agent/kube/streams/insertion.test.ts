import { type Duplex, duplexPair } from "node:stream";
import { setImmediate as breathe } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { encodeSpdyData, SpdyReader } from "../../../core/kubernetes/spdy/spdy-reader.ts";
import { SpdyWriter } from "../../../core/kubernetes/spdy/spdy-writer.ts";
import { someRuns } from "../../../test/fuzz/some-runs.ts";
import { ChannelReader } from "../codec/channel-reader.ts";
import { encodeClientMessage, encodeServerMessage, opcodes } from "../codec/web-socket-reader.ts";
import { ChannelProgramTap } from "./channel-program-tap.ts";
import { relayTapped } from "./relay-tapped.ts";
import { SpdyProgramTap } from "./spdy-program-tap.ts";
import type { ProgramEvents, StreamTap } from "./stream-tap.ts";

const quiet: ProgramEvents = { onOutput: () => undefined, onResize: () => {}, onStatus: () => {} };
const mask = Buffer.from([1, 2, 3, 4]);
const base64 = "base64.channel.k8s.io";
const streams = ["error", "stdin", "stdout"] as const;

/** How one protocol carries a program's streams. */
interface Carrier {
  readonly tap: () => StreamTap;
  /** Before the first input. */
  readonly begin: () => Promise<Buffer>;
  readonly input: (text: string) => Buffer;
  readonly output: (text: string) => Buffer;
  /** The pieces of input, or of output, that these bytes hold. */
  readonly read: (side: "client" | "server", bytes: Buffer) => Promise<readonly string[]>;
}

async function spdyBegin(): Promise<Buffer> {
  const writer = new SpdyWriter();
  const opened: Buffer[] = [];
  for (const [at, streamtype] of streams.entries()) opened.push(await writer.open(at * 2 + 1, { streamtype }));
  return Buffer.concat(opened);
}

const spdy: Carrier = {
  tap: () => new SpdyProgramTap(quiet, true),
  begin: spdyBegin,
  input: (text) => encodeSpdyData(3, Buffer.from(text), false),
  output: (text) => encodeSpdyData(5, Buffer.from(text), false),
  read: async (side, bytes) => {
    const [reader, found] = [new SpdyReader(), [] as string[]];
    await reader.take(bytes, (event) => {
      if (event.kind === "data" && event.stream === (side === "client" ? 3 : 5)) found.push(event.bytes.toString());
    });
    expect(reader.isBetween).toBe(true);
    reader.close();
    return found;
  },
};

function channels(protocol: string): Carrier {
  const isBase64 = protocol === base64;
  const opcode = isBase64 ? opcodes.text : opcodes.binary;
  const payload = (channel: number, text: string): Buffer =>
    isBase64 ? Buffer.from(`${channel}${Buffer.from(text).toString("base64")}`) : Buffer.concat([Buffer.from([channel]), Buffer.from(text)]);
  return {
    tap: () => new ChannelProgramTap(protocol, quiet, true),
    begin: async () => Buffer.alloc(0),
    input: (text) => encodeClientMessage(opcode, payload(0, text), mask),
    output: (text) => encodeServerMessage(opcode, payload(1, text)),
    read: async (side, bytes) => {
      const [reader, found] = [new ChannelReader(side, isBase64), [] as string[]];
      reader.take(bytes, (piece) => {
        if (piece.channel === (side === "client" ? 0 : 1)) found.push(piece.bytes.toString());
      });
      expect(reader.isBetween).toBe(true);
      return found;
    },
  };
}

function collected(stream: Duplex): () => Buffer {
  const pieces: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => pieces.push(chunk)).on("error", () => {});
  return () => Buffer.concat(pieces);
}

/** A relay, and its two ends. */
function relayed(tap: StreamTap) {
  const [client, near] = duplexPair();
  const [far, server] = duplexPair();
  const end = new AbortController();
  const over = relayTapped({ client: near, upstream: far, tap, signal: end.signal, onBytes: () => {} });
  const stop = async (): Promise<void> => {
    end.abort(new PlatformError("unavailable", "over"));
    await over;
  };
  return { client, server, toClient: collected(client), toServer: collected(server), over, stop };
}

const text = fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: 1, maxLength: 300 });

describe.for<[string, Carrier]>([
  ["SPDY", spdy],
  ["a WebSocket", channels("v4.channel.k8s.io")],
  ["a WebSocket in base64", channels(base64)],
])("what is put in over %s", ([, carrier]) => {
  test("stands whole between the frames of both directions, wherever those are cut, in order", async () => {
    const begin = await carrier.begin();
    const piece = fc.oneof(fc.record({ put: text }), fc.record({ own: text }));
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 12 }), fc.array(fc.integer({ min: 1, max: 90 }), { maxLength: 40 }), async (pieces, sizes) => {
        const tap = carrier.tap();
        const { client, server, toClient, toServer, over } = relayed(tap);
        client.write(begin);
        while (toServer().length < begin.length) await breathe();
        const [own, put] = [
          pieces.flatMap((one) => ("own" in one ? [one.own] : [])),
          pieces.flatMap((one) => ("put" in one ? [`<${one.put}>`] : [])),
        ];
        const [typed, shown] = [Buffer.concat(own.map(carrier.input)), Buffer.concat(own.map(carrier.output))];
        const left = [...put];
        for (let at = 0, turn = 0; at < Math.max(typed.length, shown.length); turn += 1) {
          const next = at + (sizes[turn % Math.max(1, sizes.length)] ?? 50);
          client.write(typed.subarray(at, next));
          server.write(shown.subarray(at, next));
          await breathe();
          const one = left.shift();
          if (one !== undefined) for (const insertion of [tap.inserts?.typed, tap.inserts?.shown]) insertion?.put(Buffer.from(one));
          at = next;
        }
        for (const one of left) for (const insertion of [tap.inserts?.typed, tap.inserts?.shown]) insertion?.put(Buffer.from(one));
        // A program that has shown nothing over SPDY has perhaps not agreed to begin.
        server.write(carrier.output("!"));
        client.end();
        server.end();
        await over;
        const [input, output] = [await carrier.read("client", toServer()), await carrier.read("server", toClient())];
        expect(input.filter((one) => !one.startsWith("<"))).toEqual(own);
        expect(input.filter((one) => one.startsWith("<"))).toEqual(put);
        expect(output.filter((one) => !one.startsWith("<"))).toEqual([...own, "!"]);
        expect(output.filter((one) => one.startsWith("<"))).toEqual(put);
      }),
      { numRuns: someRuns(40) },
    );
  });

  test("is dropped after the end, and the peer that waits goes on", async () => {
    const tap = carrier.tap();
    await relayed(tap).stop();
    const dropped = new Promise<void>((resolve) => tap.inserts?.typed.put(Buffer.from("late"), { done: resolve }));
    await dropped;
    expect(tap.inserts?.typed.unsent).toBe(0);
  });
});

test("while the end of a frame waits for the recording, nothing goes ahead of it", async () => {
  const recorded = Promise.withResolvers<void>();
  let isHeld = false;
  const onOutput = (bytes: Buffer): Promise<void> | undefined => {
    isHeld = bytes.includes("end");
    return isHeld ? recorded.promise : undefined;
  };
  const tap = new ChannelProgramTap("v4.channel.k8s.io", { ...quiet, onOutput }, true);
  const { server, toClient, stop } = relayed(tap);
  const message = channels("v4.channel.k8s.io").output("begin-end");
  server.write(message.subarray(0, 6));
  await expect.poll(() => toClient().length).toBe(6);
  server.write(message.subarray(6));
  await expect.poll(() => isHeld).toBe(true);
  tap.inserts.shown.put(Buffer.from("notice"));
  recorded.resolve();
  await expect.poll(() => toClient().includes("notice")).toBe(true);
  expect(toClient().subarray(0, message.length)).toEqual(message);
  await stop();
});

test("what a receiver does not read counts until it does", async () => {
  const tap = new ChannelProgramTap("v4.channel.k8s.io", quiet, true);
  const [client, near] = duplexPair({ highWaterMark: 1_000 });
  const [far] = duplexPair();
  const end = new AbortController();
  const over = relayTapped({ client: near, upstream: far, tap, signal: end.signal, onBytes: () => {} });
  const notice = Buffer.alloc(600, "n");
  for (let turn = 0; turn < 10; turn += 1) tap.inserts.shown.put(notice);
  await expect.poll(() => tap.inserts.shown.unsent).toBeLessThan(10 * notice.length);
  expect(tap.inserts.shown.unsent).toBeGreaterThan(6 * notice.length);
  client.resume();
  await expect.poll(() => tap.inserts.shown.unsent).toBe(0);
  end.abort(new PlatformError("unavailable", "over"));
  await over;
});

describe("nothing is typed", () => {
  const input = Buffer.from("ls\n");

  async function typedAfter(tap: StreamTap, bytes: readonly Buffer[]): Promise<Buffer> {
    const { client, toServer, stop } = relayed(tap);
    for (const one of bytes) client.write(one);
    await expect.poll(() => toServer().length).toBe(Buffer.concat([...bytes]).length);
    await new Promise<void>((resolve) => tap.inserts?.typed.put(input, { done: resolve }));
    const all = toServer();
    await stop();
    return all.subarray(Buffer.concat([...bytes]).length);
  }

  test.for<[string, () => Promise<readonly [StreamTap, ...Buffer[]]>]>([
    ["where the request asks for no input", async () => [new SpdyProgramTap(quiet, false), await spdyBegin()]],
    ["where it asks for none, over a WebSocket", async () => [new ChannelProgramTap("v4.channel.k8s.io", quiet, false)]],
    [
      "after the client has ended its input",
      async () => [new SpdyProgramTap(quiet, true), await spdyBegin(), encodeSpdyData(3, Buffer.alloc(0), true)],
    ],
    [
      "after the client has closed its channel",
      async () => [new ChannelProgramTap("v5.channel.k8s.io", quiet, true), encodeClientMessage(opcodes.binary, Buffer.from([255, 0]), mask)],
    ],
    [
      "after the client has closed the WebSocket",
      async () => [new ChannelProgramTap("v5.channel.k8s.io", quiet, true), encodeClientMessage(opcodes.close, Buffer.from([3, 0xe8]), mask)],
    ],
  ])("%s", async ([, given]) => {
    const [tap, ...bytes] = await given();
    expect(await typedAfter(tap, bytes)).toEqual(Buffer.alloc(0));
  });
});
