import fc from "fast-check";
import { expect, test } from "vitest";
import { packet } from "./packet.ts";
import { PacketBoundaries } from "./packet-boundaries.ts";

const packets = fc.array(fc.tuple(fc.integer({ min: 0, max: 255 }), fc.uint8Array({ maxLength: 300 })), { minLength: 1, maxLength: 8 });

test("packets end where their headers say so, whatever the chunks in which they arrive", () => {
  fc.assert(
    fc.property(packets, fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }), (all, sizes) => {
      const whole = all.map(([sequence, payload]) => packet(sequence, Buffer.from(payload)));
      const bytes = Buffer.concat(whole);
      const ends = new Map(whole.map((one, index) => [Buffer.concat(whole.slice(0, index + 1)).length, one]));
      const boundaries = new PacketBoundaries();
      for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
        const chunk = bytes.subarray(at, at + (sizes[turn % sizes.length] ?? 1));
        boundaries.push(chunk);
        at += chunk.length;
        const last = ends.get(at);
        expect([at, boundaries.atBoundary]).toEqual([at, last !== undefined]);
        if (last === undefined) continue;
        expect([boundaries.sequence, boundaries.length, boundaries.firstByte]).toEqual([last[3], last.length - 4, last[4]]);
      }
    }),
  );
});

test("a packet of 16 MiB less one byte goes on in the next one, which may be empty", () => {
  const boundaries = new PacketBoundaries();
  boundaries.push(Buffer.of(0xff, 0xff, 0xff, 1));
  boundaries.push(Buffer.alloc(0xff_ffff, 7));
  expect(boundaries.atBoundary).toBe(false);
  boundaries.push(packet(2, Buffer.alloc(0)));
  expect([boundaries.atBoundary, boundaries.sequence, boundaries.firstByte]).toEqual([true, 2, undefined]);
});

test("before any packet", () => {
  const boundaries = new PacketBoundaries();
  expect([boundaries.atBoundary, boundaries.sequence]).toEqual([true, undefined]);
});
