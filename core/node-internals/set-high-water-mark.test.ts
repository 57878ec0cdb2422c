import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { setHighWaterMark } from "./set-high-water-mark.ts";

test("a stream holds no more than that, in both directions", () => {
  const stream = new PassThrough();
  expect([stream.readableHighWaterMark, stream.writableHighWaterMark]).toEqual([65_536, 65_536]);
  setHighWaterMark(stream, 8_192);
  expect([stream.readableHighWaterMark, stream.writableHighWaterMark]).toEqual([8_192, 8_192]);
  expect(stream.write(Buffer.alloc(8_000))).toBe(true);
  expect(stream.write(Buffer.alloc(8_192))).toBe(false);
});
