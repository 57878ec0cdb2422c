import { expect, test } from "vitest";
import { encodeSpdyData } from "../../../core/kubernetes/spdy/spdy-reader.ts";
import { controlFrame, SpdyWriter } from "../../../core/kubernetes/spdy/spdy-writer.ts";
import { encodeServerMessage, opcodes } from "../codec/web-socket-reader.ts";
import { PortTap } from "./port-tap.ts";

test("a reason goes to the error stream of each open connection, and then its data ends, so that kubectl looks for the reason", async () => {
  const ports: number[] = [];
  const tap = new PortTap(false, { onPort: (port) => ports.push(port) });
  const client = new SpdyWriter();
  for (const [stream, streamtype, port] of [
    [1, "error", "80"],
    [3, "data", "80"],
    [5, "error", "81"],
    [7, "data", "81"],
    [9, "error", "82"],
    [11, "data", "82"],
  ] as const)
    await tap.fromClient(await client.open(stream, { streamtype, port }));
  // The second connection has ended at the server, the third one at the client.
  for (const stream of [5, 7]) await tap.fromServer(encodeSpdyData(stream, Buffer.alloc(0), true));
  for (const stream of [9, 11]) await tap.fromClient(controlFrame(3, Buffer.from([0, 0, 0, stream, 0, 0, 0, 5]), false));
  const wanted = [encodeSpdyData(1, Buffer.from("laptop stolen"), true), encodeSpdyData(3, Buffer.alloc(0), true)];
  expect(tap.farewell("laptop stolen")).toEqual(Buffer.concat(wanted));
  expect(ports).toEqual([80, 81, 82]);
  tap.close();
});

/** A binary message of a client, masked as those of clients are (RFC 6455 section 5.3), of at most 65,535 bytes. */
function clientMessage(bytes: Buffer): Buffer {
  const mask = Buffer.of(1, 2, 3, 4);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(bytes.length);
  return Buffer.concat([Buffer.of(0x82, 0xfe), length, mask, bytes.map((byte, at) => byte ^ (mask[at % 4] ?? 0))]);
}

test("SPDY inside of a WebSocket is read in the same way, however it is cut, and a reason goes out as one message", async () => {
  const ports: number[] = [];
  const tap = new PortTap(true, { onPort: (port) => ports.push(port) });
  const client = new SpdyWriter();
  const opened: Buffer[] = [];
  for (const [stream, streamtype] of [
    [1, "error"],
    [3, "data"],
    [5, "error"],
    [7, "data"],
  ] as const)
    opened.push(await client.open(stream, { streamtype, port: String(79 + stream) }));
  // Two frames of SPDY in one message, one in two messages, and all of it byte by byte.
  const [first = Buffer.alloc(0), second = Buffer.alloc(0), third = Buffer.alloc(0), fourth = Buffer.alloc(0)] = opened;
  const messages = [Buffer.concat([first, second]), third.subarray(0, 5), third.subarray(5), fourth].map(clientMessage);
  for (const byte of Buffer.concat(messages)) await tap.fromClient(Buffer.of(byte));
  expect(ports).toEqual([82, 86]);
  const ended = encodeServerMessage(opcodes.binary, Buffer.concat([5, 7].map((stream) => encodeSpdyData(stream, Buffer.alloc(0), true))));
  await tap.fromServer(ended.subarray(0, 3));
  // In the middle of the server's message nothing can be said.
  expect(tap.farewell("laptop stolen")).toBeUndefined();
  await tap.fromServer(ended.subarray(3));
  const reason = Buffer.concat([encodeSpdyData(1, Buffer.from("laptop stolen"), true), encodeSpdyData(3, Buffer.alloc(0), true)]);
  expect(tap.farewell("laptop stolen")).toEqual(encodeServerMessage(opcodes.binary, reason));
  tap.close();
});
