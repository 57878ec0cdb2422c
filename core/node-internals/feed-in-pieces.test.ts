import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { feedInPieces } from "./feed-in-pieces.ts";

test.each([1, 999, 1000, 1001, 1700, 5000])(
  "%i bytes that were read ahead come whole, in pieces below the size of NodeBIO's first buffer",
  (length) => {
    const stream = new PassThrough();
    const bytes = Buffer.from(Array.from({ length }, (_, index) => index % 251));
    stream.write(bytes);
    feedInPieces(stream);
    const pieces: Buffer[] = [];
    for (let piece = stream.read() as Buffer | null; piece !== null; piece = stream.read() as Buffer | null) pieces.push(piece);
    expect(Buffer.concat(pieces).equals(bytes)).toBe(true);
    expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThan(1024);
    // Afterwards the stream reads as any other.
    stream.write(Buffer.alloc(3000));
    expect((stream.read() as Buffer).length).toBe(3000);
  },
);

test("a stream without bytes is left alone", () => {
  const stream = new PassThrough();
  const { read } = stream;
  feedInPieces(stream);
  expect(stream.read).toBe(read);
});
