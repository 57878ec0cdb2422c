import { Writable } from "node:stream";
import { expect, test } from "vitest";
import { gatherWrites } from "./gather-writes.ts";

/** Notes what arrives in one piece. */
function sink(): { readonly stream: Writable; readonly pieces: string[] } {
  const pieces: string[] = [];
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      pieces.push(chunk.toString());
      done();
    },
    writev: (chunks, done) => {
      pieces.push(chunks.map(({ chunk }) => String(chunk)).join(""));
      done();
    },
  });
  return { stream, pieces };
}

const handled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

test("what is written while the events at hand are handled leaves in one piece, on each stream", async () => {
  const [one, two] = [sink(), sink()];
  for (const { stream } of [one, two]) {
    gatherWrites(stream);
    stream.write("head ");
  }
  await Promise.resolve();
  one.stream.write("body ");
  process.nextTick(() => one.stream.write("end"));
  expect(one.pieces).toEqual([]);
  await handled();
  expect([one.pieces, two.pieces]).toEqual([["head body end"], ["head "]]);
});

test("what is written later is not held back", async () => {
  const { stream, pieces } = sink();
  gatherWrites(stream);
  gatherWrites(stream);
  await handled();
  stream.write("one");
  stream.write("two");
  expect(pieces).toEqual(["one", "two"]);
});
