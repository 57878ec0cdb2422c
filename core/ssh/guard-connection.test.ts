import { once } from "node:events";
import { Duplex, duplexPair } from "node:stream";
import { expect, test } from "vitest";
import { tuneStream } from "./guard-connection.ts";

test("data written in one tick leaves in one piece, and is counted", async () => {
  const pieces: number[] = [];
  let counted = 0;
  const stream = new Duplex({
    read() {},
    write: (chunk: Buffer, _encoding, done) => {
      pieces.push(chunk.length);
      done();
    },
    writev: (chunks, done) => {
      pieces.push(chunks.reduce((sum, { chunk }) => sum + (chunk as Buffer).length, 0));
      done();
    },
  });
  tuneStream(stream, (_stream, bytes) => {
    counted += bytes;
  });
  stream.write(Buffer.alloc(3));
  stream.write(Buffer.alloc(4));
  stream.write(Buffer.alloc(5));
  await new Promise(setImmediate);
  stream.write(Buffer.alloc(6));
  await new Promise(setImmediate);
  expect(pieces).toEqual([12, 6]);
  expect(counted).toBe(18);
});

test("a peer that sends requests without reading the answers is disconnected", () => {
  const [near] = duplexPair();
  tuneStream(near, () => {});
  const chunk = Buffer.alloc(64 * 1024);
  let written = 0;
  for (; written < 10_000 && !near.destroyed; written += 1) near.write(chunk);
  expect(near.destroyed).toBe(true);
  expect(written * chunk.length).toBeLessThan(17 * 1024 * 1024);
});

test("a stream whose peer has sent everything is closed", async () => {
  const [near, far] = duplexPair();
  tuneStream(near, () => {});
  const closed = once(near, "close");
  near.resume();
  far.end();
  await closed;
});
