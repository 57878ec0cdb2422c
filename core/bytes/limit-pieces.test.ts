import { Duplex } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { limitPieces } from "./limit-pieces.ts";

/** A stream that takes nothing until `take`. */
function slowStream(highWaterMark: number) {
  const waiting: (() => void)[] = [];
  const stream = new Duplex({ highWaterMark, read: () => {}, write: (_piece, _encoding, done) => void waiting.push(done) });
  const take = async (): Promise<void> => {
    while (stream.writableLength > 0) {
      for (const done of waiting.splice(0)) done();
      await turn();
    }
  };
  return { stream, take };
}

test("a stream has no room for more than 1,023 pieces, until it has taken them", async () => {
  const { stream, take } = slowStream(1_000_000);
  const drained = vi.fn<() => void>();
  const write = limitPieces(stream, drained);
  for (let round = 1; round <= 3; round += 1) {
    const room = Array.from({ length: 1_024 }, () => write(Buffer.of(1)));
    expect([room.indexOf(false), drained.mock.calls.length]).toEqual([1_023, round - 1]);
    await take();
    expect(drained).toHaveBeenCalledTimes(round);
  }
});

test("pieces that are taken in between do not count, and bytes do", async () => {
  const { stream, take } = slowStream(100);
  const write = limitPieces(stream, () => {});
  for (let pieces = 0; pieces < 2_000; pieces += 1) {
    expect(write(Buffer.of(1))).toBe(true);
    await take();
  }
  expect(write(Buffer.alloc(100))).toBe(false);
});
