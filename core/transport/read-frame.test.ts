import { duplexPair, PassThrough } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { u32 } from "../bytes/fields.ts";
import { PlatformError } from "../errors/platform-error.ts";
import { readFrame, readMessages } from "./read-frame.ts";

const options = { maxLength: 1000, timeoutMs: 10_000, what: "greeting" };
const frame = (body: Uint8Array): Buffer => Buffer.concat([u32(body.length), body]);

async function failure(wait: Promise<unknown>): Promise<PlatformError> {
  const thrown: unknown = await wait.catch((error: unknown) => error);
  if (thrown instanceof PlatformError) return thrown;
  throw new Error("not refused");
}

const events = ["readable", "data", "end", "close", "error"];

describe("readFrame", () => {
  test("any bytes in any pieces are read one after the other, and the rest stays in the stream", async () => {
    const bodies = fc.array(fc.uint8Array({ maxLength: 300 }), { minLength: 1, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(bodies, fc.uint8Array({ maxLength: 50 }), fc.integer({ min: 1, max: 400 }), async (wanted, tail, size) => {
        const [near, far] = duplexPair();
        const bytes = Buffer.concat([...wanted.map(frame), tail]);
        for (let at = 0; at < bytes.length; at += size) far.write(bytes.subarray(at, at + size));
        far.end();
        for (const body of wanted) expect(await readFrame(near, options)).toEqual(Buffer.from(body));
        const rest: Buffer[] = [];
        for await (const chunk of near) rest.push(chunk as Buffer);
        expect(Buffer.concat(rest)).toEqual(Buffer.from(tail));
      }),
    );
  });

  test("leaves no listener, whether it succeeds or fails", async () => {
    const [near, far] = duplexPair();
    const before = events.map((event) => near.listenerCount(event));
    far.write(Buffer.concat([frame(Buffer.from("a")), u32(1001)]));
    await readFrame(near, options);
    await failure(readFrame(near, options));
    expect(events.map((event) => near.listenerCount(event))).toEqual(before);
  });

  test("a length over the limit is refused before the body arrives", async () => {
    const [near, far] = duplexPair();
    far.write(u32(1001));
    const error = await failure(readFrame(near, options));
    expect([error.code, error.message]).toEqual(["invalid", "a greeting of 1001 bytes was announced; 1000 are allowed"]);
  });

  test("the largest possible length is also refused", async () => {
    const [near, far] = duplexPair();
    far.write(Buffer.from([255, 255, 255, 255, 1, 2, 3]));
    expect((await failure(readFrame(near, options))).code).toBe("invalid");
  });

  test.for([[Buffer.alloc(0)], [Buffer.of(0, 0)], [Buffer.of(0, 0, 0, 5, 1)]])("an end after %j is unavailable", async ([bytes]) => {
    const [near, far] = duplexPair();
    far.end(bytes);
    expect((await failure(readFrame(near, options))).code).toBe("unavailable");
  });

  test("a stream that failed, or was already closed, is unavailable", async () => {
    const [near] = duplexPair();
    const wait = failure(readFrame(near, options));
    await turn();
    near.destroy(new Error("planted"));
    expect((await wait).code).toBe("unavailable");
    expect((await failure(readFrame(near, options))).code).toBe("unavailable");
  });

  test("a stream whose end was already read is unavailable at once", async () => {
    const [near, far] = duplexPair();
    far.end();
    for await (const _ of near.iterator({ destroyOnReturn: false }));
    expect((await failure(readFrame(near, options))).code).toBe("unavailable");
  });

  test("silence ends at the time limit", async () => {
    const [near, far] = duplexPair();
    far.write(Buffer.of(0, 0));
    expect((await failure(readFrame(near, { ...options, timeoutMs: 20 }))).code).toBe("timeout");
  });

  test("the signal ends it, even when it is already aborted", async () => {
    const [near] = duplexPair();
    const stop = new AbortController();
    const wait = failure(readFrame(near, { ...options, signal: stop.signal }));
    stop.abort();
    expect((await wait).code).toBe("unavailable");
    expect((await failure(readFrame(near, { ...options, signal: stop.signal }))).code).toBe("unavailable");
  });
});

describe("readMessages", () => {
  test("however the bytes are cut, the messages are the sent ones", () => {
    const bodies = fc.array(fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)));
    fc.assert(
      fc.property(bodies, fc.array(fc.nat(50)), (sent, cuts) => {
        const bytes = Buffer.concat(sent.map(frame));
        const at = [...cuts.filter((cut) => cut <= bytes.length).toSorted((a, b) => a - b), bytes.length];
        const chunks = at.map((end, index) => bytes.subarray(at[index - 1] ?? 0, end));
        expect(read(chunks)).toEqual({ messages: sent.map((body) => body.toString("latin1")), errors: [] });
      }),
    );
  });

  test("a length beyond the longest message ends reading before any of it is buffered, and nothing after it is read", () => {
    const tooLong = Buffer.alloc(4);
    tooLong.writeUInt32BE(1001);
    const { messages, errors } = read([frame(Buffer.from("one")), tooLong, frame(Buffer.from("two"))]);
    expect(messages).toEqual(["one"]);
    expect(errors).toMatchObject([{ code: "invalid", message: "a tunnel message of 1001 bytes was announced" }]);
  });

  test("an invalid body ends reading, once", () => {
    const refuse = (): string => {
      throw new Error("no such message");
    };
    expect(read([frame(Buffer.from("one")), frame(Buffer.from("two"))], refuse)).toMatchObject({
      messages: [],
      errors: [{ message: "no such message" }],
    });
  });
});

/** Messages and errors from these chunks. */
function read(chunks: readonly Buffer[], decode: (body: Buffer) => string = (body) => body.toString("latin1")) {
  const channel = new PassThrough();
  const seen: { messages: string[]; errors: unknown[] } = { messages: [], errors: [] };
  readMessages(channel, {
    maxLength: 1000,
    what: "tunnel message",
    decode,
    onMessage: (message) => seen.messages.push(message),
    onError: (error) => seen.errors.push(error),
  });
  for (const chunk of chunks) channel.emit("data", chunk);
  return seen;
}
