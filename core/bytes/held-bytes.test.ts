import fc from "fast-check";
import { expect, test } from "vitest";
import { HeldBytes } from "./held-bytes.ts";

test("pieces come out as they came in, and nothing stays", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 3_000 })), fc.option(fc.nat(5_000), { nil: undefined }), (pieces, needed) => {
      const held = new HeldBytes();
      for (const piece of pieces) held.add(Buffer.from(piece), needed);
      const whole = Buffer.concat(pieces);
      expect(held.length).toBe(whole.length);
      expect(held.bytes.equals(whole)).toBe(true);
      expect(held.take().equals(whole)).toBe(true);
      expect([held.length, held.take()]).toEqual([0, Buffer.alloc(0)]);
    }),
  );
});

test("single bytes take no more memory than twice what they are, and no more than is needed", () => {
  const held = new HeldBytes();
  const buffers = new Set<unknown>();
  for (let count = 0; count < 1_000_000; count += 1) {
    held.add(Buffer.of(count & 255), 1_000_100);
    buffers.add(held.bytes.buffer);
  }
  expect(held.bytes.buffer.byteLength).toBeLessThanOrEqual(1_000_100);
  expect(buffers.size).toBeLessThan(15);
});
