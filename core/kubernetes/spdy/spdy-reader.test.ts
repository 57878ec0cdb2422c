import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { someRuns } from "../../../test/fuzz/some-runs.ts";
import { PlatformError } from "../../errors/platform-error.ts";
import { decodePairs } from "./header-block.ts";
import { spdyDictionary } from "./spdy-dictionary.ts";
import { encodeSpdyData, type SpdyEvent, SpdyReader } from "./spdy-reader.ts";
import { controlFrame, SpdyWriter } from "./spdy-writer.ts";

async function read(pieces: readonly Buffer[]): Promise<readonly unknown[]> {
  const reader = new SpdyReader();
  const events: SpdyEvent[] = [];
  for (const piece of pieces)
    await reader.take(piece, (event) => void events.push(event.kind === "data" ? { ...event, bytes: Buffer.from(event.bytes) } : event));
  expect(reader.isBetween).toBe(true);
  reader.close();
  return joined(events);
}

/** Pieces of one frame as one. */
function joined(events: readonly SpdyEvent[]): readonly unknown[] {
  const all: Record<string, unknown>[] = [];
  for (const event of events) {
    const last = all.at(-1);
    if (event.kind !== "data") all.push({ ...event, ...("headers" in event && { headers: Object.fromEntries(event.headers) }) });
    else if (last?.kind === "data" && last.stream === event.stream && last.isLast === false) {
      all[all.length - 1] = { ...event, bytes: `${String(last.bytes)}${String(event.bytes)}` };
    } else all.push({ ...event, bytes: String(event.bytes) });
  }
  return all;
}

function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const pieces: Buffer[] = [];
  let at = 0;
  for (const size of sizes) {
    pieces.push(bytes.subarray(at, at + size));
    at += size;
  }
  return [...pieces, bytes.subarray(at)];
}

async function session(): Promise<Buffer> {
  const writer = new SpdyWriter();
  return Buffer.concat([
    await writer.open(1, { streamtype: "error" }, true),
    await writer.open(3, { streamtype: "stdout", Port: "80" }),
    controlFrame(6, Buffer.alloc(4), false),
    encodeSpdyData(3, Buffer.from("hello"), false),
    encodeSpdyData(3, Buffer.alloc(0), true),
    await writer.reply(3, { a: "b" }),
    controlFrame(3, Buffer.from([0, 0, 0, 1, 0, 0, 0, 5]), false),
  ]);
}

const whole = [
  { kind: "open", stream: 1, headers: { streamtype: "error" }, isLast: true },
  { kind: "open", stream: 3, headers: { streamtype: "stdout", port: "80" }, isLast: false },
  { kind: "data", stream: 3, bytes: "hello", isLast: true },
  { kind: "headers", stream: 3, headers: { a: "b" }, isLast: false },
  { kind: "reset", stream: 1 },
];

test("the dictionary is the one of the specification", () => {
  expect(spdyDictionary.length).toBe(1423);
  // Adler-32 of it, which every compressed block of SPDY/3 begins with.
  expect(adler32(spdyDictionary)).toBe(0xe3c6a7c2);
});

function adler32(bytes: Buffer): number {
  let [a, b] = [1, 0];
  for (const byte of bytes) {
    a = (a + byte) % 65_521;
    b = (b + a) % 65_521;
  }
  return b * 65_536 + a;
}

test("frames are read in any pieces", async () => {
  const bytes = await session();
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 60 }), async (sizes) => {
      expect(await read(cut(bytes, sizes))).toEqual(whole);
    }),
    { numRuns: someRuns(60) },
  );
});

test("data of any length passes without being held", async () => {
  const reader = new SpdyReader();
  const digest = createHash("sha256");
  const body = Buffer.alloc(4 * 1024 * 1024, "x");
  for (const piece of cut(encodeSpdyData(5, body, false), [100_000, 1, 65_536])) {
    await reader.take(piece, (event) => event.kind === "data" && digest.update(event.bytes));
  }
  expect(digest.digest("hex")).toBe(createHash("sha256").update(body).digest("hex"));
});

test.each([
  ["another version", controlFrame(1, Buffer.alloc(20), false, 2)],
  ["a control frame that is too large", controlFrame(1, Buffer.alloc(40_000), false)],
  ["a stream without its ids", controlFrame(1, Buffer.alloc(6), false)],
  ["headers that are not compressed", controlFrame(1, Buffer.alloc(60, 7), false)],
])("%s is refused", async (_, bytes) => {
  const reader = new SpdyReader();
  await expect((async () => await reader.take(bytes, () => {}))()).rejects.toMatchObject({ code: "invalid" });
});

test("a header block that grows beyond its limit is refused", async () => {
  const bomb = await new SpdyWriter().open(1, { a: "x".repeat(1_000_000) });
  expect(bomb.length).toBeLessThan(32_768);
  const reader = new SpdyReader();
  await expect((async () => await reader.take(bomb, () => {}))()).rejects.toMatchObject({ code: "invalid" });
});

test("pairs that state lengths beyond their block are refused", () => {
  const lying = fc.uint8Array({ minLength: 0, maxLength: 64 });
  fc.assert(
    fc.property(lying, (bytes) => {
      try {
        for (const [name] of decodePairs(Buffer.from(bytes))) expect(name.length).toBeLessThan(65);
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(PlatformError);
      }
    }),
    { numRuns: someRuns(300) },
  );
});

test("whatever the bytes, they are read or refused", async () => {
  const base = await session();
  const changed = fc.tuple(fc.nat(base.length - 1), fc.nat(255), fc.array(fc.integer({ min: 1, max: 30 }), { maxLength: 20 }));
  await fc.assert(
    fc.asyncProperty(changed, async ([at, byte, sizes]) => {
      const bytes = Buffer.from(base);
      bytes[at] = byte;
      const reader = new SpdyReader();
      try {
        for (const piece of cut(bytes, sizes)) await reader.take(piece, () => {});
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(PlatformError);
      } finally {
        reader.close();
      }
    }),
    { numRuns: someRuns(200) },
  );
});
