import { Duplex, Readable } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { gatherPieces, unreadBytes } from "../../core/node-internals/gather-pieces.ts";
import { pump } from "./pump.ts";

test("input in single bytes does not wait by the thousand for a program that reads nothing, and all of it arrives", async () => {
  const source = gatherPieces(new Readable({ read: () => {} }));
  const taken: Buffer[] = [];
  const first = Promise.withResolvers<() => void>();
  let isReading = false;
  const program = new Duplex({
    read: () => {},
    write: (piece: Buffer, _encoding, done) => {
      taken.push(piece);
      if (isReading) done();
      else first.resolve(done);
    },
  });
  const sent = Buffer.from(Array.from({ length: 10_000 }, (_, index) => index % 251));
  const over = pump(source, program, new AbortController().signal);
  for (let at = 0; at < sent.length; at += 1) {
    source.push(sent.subarray(at, at + 1));
    if (at % 100 === 0) await turn();
  }
  expect([program.writableLength, unreadBytes(source)]).toEqual([1_024, sent.length - 1_024]);
  isReading = true;
  (await first.promise)();
  source.push(null);
  await over;
  expect(Buffer.concat(taken).equals(sent)).toBe(true);
});
