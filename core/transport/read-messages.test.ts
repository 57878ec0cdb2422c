import { PassThrough } from "node:stream";
import fc from "fast-check";
import { expect, test } from "vitest";
import { readMessages } from "./read-messages.ts";
import { maxTunnelMessage } from "./tunnel-message.ts";

const framed = (body: Buffer): Buffer => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length);
  return Buffer.concat([length, body]);
};

/** Messages and errors from these chunks. */
function read(chunks: readonly Buffer[], decode: (body: Buffer) => string = (body) => body.toString("latin1")) {
  const channel = new PassThrough();
  const seen: { messages: string[]; errors: unknown[] } = { messages: [], errors: [] };
  readMessages(channel, { decode, onMessage: (message) => seen.messages.push(message), onError: (error) => seen.errors.push(error) });
  for (const chunk of chunks) channel.emit("data", chunk);
  return seen;
}

test("however the bytes are cut, the messages are the sent ones", () => {
  const bodies = fc.array(fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)));
  fc.assert(
    fc.property(bodies, fc.array(fc.nat(50)), (sent, cuts) => {
      const bytes = Buffer.concat(sent.map(framed));
      const at = [...cuts.filter((cut) => cut <= bytes.length).toSorted((a, b) => a - b), bytes.length];
      const chunks = at.map((end, index) => bytes.subarray(at[index - 1] ?? 0, end));
      expect(read(chunks)).toEqual({ messages: sent.map((body) => body.toString("latin1")), errors: [] });
    }),
  );
});

test("a length beyond the longest message ends reading before any of it is buffered, and nothing after it is read", () => {
  const tooLong = Buffer.alloc(4);
  tooLong.writeUInt32BE(maxTunnelMessage + 1);
  const { messages, errors } = read([framed(Buffer.from("one")), tooLong, framed(Buffer.from("two"))]);
  expect(messages).toEqual(["one"]);
  expect(errors).toMatchObject([{ code: "invalid", message: `a tunnel message of ${maxTunnelMessage + 1} bytes was announced` }]);
});

test("an invalid body ends reading, once", () => {
  const refuse = (): string => {
    throw new Error("no such message");
  };
  expect(read([framed(Buffer.from("one")), framed(Buffer.from("two"))], refuse)).toMatchObject({
    messages: [],
    errors: [{ message: "no such message" }],
  });
});
