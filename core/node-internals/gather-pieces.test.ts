import { once } from "node:events";
import { Duplex, Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import fc from "fast-check";
import { expect, test } from "vitest";
import { someRuns } from "../../test/fuzz/some-runs.ts";
import { gatherPieces, unreadBytes } from "./gather-pieces.ts";

const source = (): Readable => gatherPieces(new Readable({ highWaterMark: 1_000_000, read: () => {} }));

test("single bytes that are not read become few pieces, and are counted", async () => {
  const stream = source();
  const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 251));
  for (let at = 0; at < bytes.length; at += 1) stream.push(bytes.subarray(at, at + 1));
  expect(unreadBytes(stream)).toBe(bytes.length);
  stream.push(null);
  const pieces: Buffer[] = [];
  stream.on("data", (piece: Buffer) => pieces.push(piece));
  await once(stream, "end");
  expect(Buffer.concat(pieces).equals(bytes)).toBe(true);
  expect(pieces.length).toBeLessThan(2_100);
});

test("pieces of any size, read at any time and in any portions, arrive whole and in order", async () => {
  const step = fc.oneof(fc.record({ push: fc.nat(3_000), times: fc.nat(40) }), fc.record({ read: fc.option(fc.nat(40_000), { nil: undefined }) }));
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const stream = source();
      const [given, got]: [Buffer[], Buffer[]] = [[], []];
      for (const one of steps) {
        if ("read" in one) {
          const bytes = stream.read(one.read) as Buffer | null;
          if (bytes !== null) got.push(bytes);
        } else {
          for (let count = 0; count < one.times; count += 1) {
            const piece = Buffer.alloc(one.push, given.length % 251);
            given.push(piece);
            stream.push(piece);
          }
        }
        expect(unreadBytes(stream)).toBe(Buffer.concat(given).length - Buffer.concat(got).length);
      }
      stream.push(null);
      got.push(await buffer(stream));
      expect(Buffer.concat(got).equals(Buffer.concat(given))).toBe(true);
    }),
    { numRuns: someRuns(200) },
  );
});

test("a reader that has taken everything gets what was gathered, without anything more to come", async () => {
  const stream = gatherPieces(new Duplex({ read: () => {}, write: (_chunk, _encoding, done) => done() }));
  const half = Buffer.alloc(16_384);
  // The reader has asked for more before it comes.
  stream.read(0);
  for (const piece of [half, ...Array.from({ length: 100 }, () => Buffer.of(1))]) stream.push(piece);
  let got = 0;
  stream.on("data", (piece: Buffer) => (got += piece.length));
  while (got < half.length + 100) await once(stream, "data");
  expect(unreadBytes(stream)).toBe(0);
});

test("a reader that has asked for more than there is gets to know of the next piece, however small", async () => {
  const stream = source();
  stream.push(Buffer.alloc(17_000));
  const whole = new Promise<Buffer>((resolve) =>
    stream.on("readable", () => {
      const bytes = stream.read(18_000) as Buffer | null;
      if (bytes !== null) resolve(bytes);
    }),
  );
  await once(stream, "readable");
  for (let count = 0; count < 1_000; count += 1) stream.push(Buffer.of(1));
  expect((await whole).length).toBe(18_000);
});
