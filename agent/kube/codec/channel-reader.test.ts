import fc from "fast-check";
import { expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { someRuns } from "../../../test/fuzz/some-runs.ts";
import { ChannelReader } from "./channel-reader.ts";
import { encodeServerMessage, opcodes, WebSocketReader } from "./web-socket-reader.ts";

/** A client's frame. */
function clientFrame(opcode: number, payload: Buffer, { isFinal = true, mask = Buffer.from([1, 2, 3, 4]) } = {}): Buffer {
  const plain = encodeServerMessage(opcode, payload);
  const headLength = plain.length - payload.length;
  const head = Buffer.from(plain.subarray(0, headLength));
  head[0] = ((head[0] ?? 0) & 0x7f) | (isFinal ? 0x80 : 0);
  head[1] = (head[1] ?? 0) | 0x80;
  return Buffer.concat([head, mask, Buffer.from(payload.map((byte, index) => byte ^ (mask[index & 3] ?? 0)))]);
}

function channelsOf(reader: ChannelReader, bytes: Buffer, size: number): Record<number, string> {
  const found: Record<number, string> = {};
  for (let at = 0; at < bytes.length; at += size)
    reader.take(bytes.subarray(at, at + size), ({ channel, bytes: piece }) => {
      found[channel] = (found[channel] ?? "") + piece.toString("latin1");
    });
  expect(reader.isBetween).toBe(true);
  return found;
}

test("channels are read in any pieces, from either side", () => {
  const long = "y".repeat(70_000);
  const messages = [
    [opcodes.binary, "\u0001hello "],
    [opcodes.binary, "\u0002oops"],
    [opcodes.ping, "still there"],
    [opcodes.text, "\u0001world"],
    [opcodes.binary, ""],
    [opcodes.binary, `\u0003${long}`],
    [opcodes.binary, "\u00ff\u0000"],
  ] as const;
  const expected = { 1: "hello world", 2: "oops", 3: long, 255: "\u0000" };
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 300 }), fc.constantFrom("client" as const, "server" as const), (size, side) => {
      const encode = side === "client" ? clientFrame : encodeServerMessage;
      const bytes = Buffer.concat(messages.map(([opcode, text]) => encode(opcode, Buffer.from(text, "latin1"))));
      expect(channelsOf(new ChannelReader(side, false), bytes, size)).toEqual(expected);
    }),
    { numRuns: someRuns(40) },
  );
});

test("base64 is decoded across pieces and frames", () => {
  const text = `1${Buffer.from("some output of a program").toString("base64")}`;
  const bytes = Buffer.concat([
    clientFrame(opcodes.text, Buffer.from(text.slice(0, 6)), { isFinal: false }),
    clientFrame(opcodes.continuation, Buffer.from(text.slice(6))),
  ]);
  for (const size of [1, 2, 3, 5, 100]) expect(channelsOf(new ChannelReader("client", true), bytes, size)).toEqual({ 1: "some output of a program" });
});

test.each([
  ["a client's frame without a mask", "client", encodeServerMessage(opcodes.binary, Buffer.from("a"))],
  ["a server's frame with one", "server", clientFrame(opcodes.binary, Buffer.from("a"))],
  ["an extension", "server", Buffer.from([0xc2, 0x00])],
  ["an unknown opcode", "server", Buffer.from([0x83, 0x00])],
  ["a continuation of nothing", "server", Buffer.from([0x80, 0x00])],
  ["a long control frame", "server", encodeServerMessage(opcodes.ping, Buffer.alloc(200))],
  ["a length beyond all numbers", "server", Buffer.from([0x82, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])],
] as const)("%s is refused", (_, side, bytes) => {
  expect(() => new WebSocketReader(side).take(bytes, () => {})).toThrow(expect.objectContaining({ code: "invalid" }));
});

test("a lying length holds nothing", () => {
  const reader = new WebSocketReader("server");
  reader.take(Buffer.from([0x82, 0x7f, 0, 0, 0x10, 0, 0, 0, 0, 0]), () => {});
  let bytes = 0;
  const count = (piece: { readonly bytes: Buffer }): void => {
    bytes += piece.bytes.length;
  };
  for (let turn = 0; turn < 1_000; turn += 1) reader.take(Buffer.alloc(10_000), count);
  expect(bytes).toBe(10_000_000);
  expect(reader.isBetween).toBe(false);
});

test("whatever the bytes, they are read or refused", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.boolean(), fc.integer({ min: 1, max: 50 }), (bytes, isBase64, size) => {
      const reader = new ChannelReader("client", isBase64);
      try {
        for (let at = 0; at < bytes.length; at += size) reader.take(Buffer.from(bytes.subarray(at, at + size)), () => {});
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(PlatformError);
      }
    }),
    { numRuns: someRuns(400) },
  );
});
