import fc from "fast-check";
import { expect, test } from "vitest";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { FrameFilter, type FrameFormat, type Judge } from "./frame-filter.ts";

/** A type, and the length of the body in two bytes. */
const format: FrameFormat = {
  headerBytes: 3,
  lengthOf: (header) => {
    if (header[0] === 0) throw new PlatformError("invalid", "type 0");
    return 3 + header.readUInt16BE(1);
  },
  keep: (header) => (header[0] === 1 ? 0 : 8),
};
const frame = (type: number, body: Buffer): Buffer => Buffer.concat([Buffer.of(type, body.length >> 8, body.length & 255), body]);
const judge: Judge = ({ header, body }) => {
  if (header[0] === 3) return "drop";
  return header[0] === 4 ? Buffer.concat([Buffer.from("<"), body, Buffer.from(">")]) : "pass";
};
const frames = fc.array(
  fc.record({ type: fc.integer({ min: 1, max: 4 }), body: fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)) }),
);

/** The same bytes in any pieces. */
function inPieces(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const ends = [...new Set(cuts.map((cut) => cut % (bytes.length + 1))), bytes.length].sort((a, b) => a - b);
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
}

test("frames pass, are dropped or replaced, whatever the pieces in which they arrive", () => {
  fc.assert(
    fc.property(frames, fc.array(fc.nat(), { maxLength: 30 }), (all, cuts) => {
      const seen: [number, number][] = [];
      const filter = new FrameFilter(format, (one) => {
        seen.push([one.header[0] ?? 0, one.length]);
        return judge(one);
      });
      const bytes = Buffer.concat(all.map(({ type, body }) => frame(type, body)));
      const out = inPieces(bytes, cuts).flatMap((piece) => filter.push(Buffer.from(piece)));
      const expected = all.map(({ type, body }) => {
        if (type === 3) return Buffer.alloc(0);
        return type === 4 ? Buffer.concat([Buffer.from("<"), body.subarray(0, 8), Buffer.from(">")]) : frame(type, body);
      });
      expect(Buffer.concat(out)).toEqual(Buffer.concat(expected));
      expect(seen).toEqual(all.map(({ type, body }) => [type, body.length + 3]));
      expect([filter.atBoundary, filter.heldBytes]).toEqual([true, 0]);
    }),
  );
});

test("a chunk of passing frames goes on in one piece, and a long frame before it is complete", () => {
  const filter = new FrameFilter(format, judge);
  const three = Buffer.concat([frame(1, Buffer.alloc(5)), frame(2, Buffer.alloc(20)), frame(1, Buffer.alloc(0))]);
  expect(filter.push(three)).toEqual([three]);
  const long = frame(2, Buffer.alloc(60_000, 7));
  expect(filter.push(long.subarray(0, 10))).toEqual([]);
  expect([filter.heldBytes, filter.atBoundary]).toEqual([10, true]);
  expect(filter.push(long.subarray(10, 11))).toEqual([long.subarray(0, 11)]);
  expect([filter.heldBytes, filter.atBoundary]).toEqual([0, false]);
  expect(filter.push(long.subarray(11))).toEqual([long.subarray(11)]);
  expect(filter.atBoundary).toBe(true);
});

test("what goes before a fault in the same chunk is not lost, and the fault comes after it", () => {
  const filter = new FrameFilter(format, judge);
  const good = frame(2, Buffer.alloc(4));
  expect(filter.push(Buffer.concat([good, Buffer.alloc(3)]))).toEqual([good]);
  expect(filter.failure).toMatchObject({ message: "type 0" });
  expect(() => filter.push(good)).toThrow("type 0");
});

test("at the end of a session the rest of a frame passes, and nothing after it", () => {
  const filter = new FrameFilter(format, judge);
  const [one, two] = [frame(1, Buffer.alloc(30, 1)), frame(1, Buffer.alloc(30, 2))];
  expect(filter.push(one.subarray(0, 10))).toEqual([one.subarray(0, 10)]);
  filter.finish();
  expect(filter.push(Buffer.concat([one.subarray(10), two]))).toEqual([one.subarray(10)]);
  expect(filter.push(two)).toEqual([]);
  expect(filter.atBoundary).toBe(true);
});

test("a body that is kept whole is joined once, however many chunks it has", () => {
  const filter = new FrameFilter({ headerBytes: 4, lengthOf: (header) => header.readUInt32BE(0), keep: () => 16_000_000 }, () => "pass");
  const whole = Buffer.alloc(8_000_000, 1);
  whole.writeUInt32BE(whole.length, 0);
  const out: Buffer[] = [];
  for (let at = 0; at < whole.length; at += 1000) out.push(...filter.push(whole.subarray(at, at + 1000)));
  expect(out).toHaveLength(1);
  expect(out[0]?.equals(whole)).toBe(true);
});

test("any bytes end in frames or in the format's own error, and at most a header and what is kept is held", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 50 })), (pieces) => {
      const filter = new FrameFilter(format, judge);
      try {
        for (const piece of pieces) {
          filter.push(Buffer.from(piece));
          expect(filter.heldBytes).toBeLessThan(11);
          if (filter.failure !== undefined) throw filter.failure;
        }
      } catch (thrown) {
        expect(thrown).toMatchObject({ code: "invalid", message: "type 0" });
      }
    }),
  );
});
