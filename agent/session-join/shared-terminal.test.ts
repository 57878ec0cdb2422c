import fc from "fast-check";
import { expect, test } from "vitest";
import { ScrollBack } from "./shared-terminal.ts";

test("holds all of a small output, in pieces of any size", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 50 }), { maxLength: 20 }), (pieces) => {
      const past = new ScrollBack(1024);
      for (const piece of pieces) past.add(Buffer.from(piece));
      expect(past.bytes()).toEqual(Buffer.concat(pieces));
    }),
  );
});

test("holds the end of a large output, within its limit, starting at a line", () => {
  const line = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 30 }).map((text) => `${text}\n`);
  fc.assert(
    fc.property(fc.array(line, { minLength: 50, maxLength: 200 }), fc.integer({ min: 1, max: 40 }), (lines, size) => {
      const all = Buffer.from(lines.join(""));
      const past = new ScrollBack(200);
      for (let at = 0; at < all.length; at += size) past.add(all.subarray(at, at + size));
      const kept = past.bytes();
      expect(kept.length).toBeLessThanOrEqual(200);
      expect(all.subarray(all.length - kept.length)).toEqual(kept);
      if (kept.length < all.length) expect(all[all.length - kept.length - 1]).toBe(0x0a);
    }),
  );
});

test("keeps nothing alive of a large buffer, and no buffer for each character", () => {
  const past = new ScrollBack(64 * 1024);
  const large = Buffer.alloc(1024 * 1024, "x");
  past.add(large);
  expect(past.bytes().length).toBeLessThanOrEqual(64 * 1024);
  for (let count = 0; count < 100_000; count += 1) past.add(Buffer.from("."));
  expect(past.bytes().length).toBeLessThanOrEqual(64 * 1024);
  expect(past.bytes().toString().endsWith(".".repeat(40_000))).toBe(true);
});
