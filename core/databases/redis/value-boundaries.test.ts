import fc from "fast-check";
import { expect, test } from "vitest";
import { ValueBoundaries } from "./value-boundaries.ts";

const text = fc.string({ unit: fc.constantFrom("a", "*", "$", "-", "\r", "\n", "3", ">"), maxLength: 12 });
const line = fc.string({ unit: fc.constantFrom("a", "*", "$", "3", " "), maxLength: 12 });
const bulk = (type: string) => text.map((one) => `${type}${one.length}\r\n${one}\r\n`);
const aggregate = (type: string, one: fc.Arbitrary<string>, each: number) =>
  fc
    .array(one, { maxLength: 6 })
    .map((all) => `${type}${Math.floor(all.length / each)}\r\n${all.slice(0, all.length - (all.length % each)).join("")}`);

/** Replies of RESP2 and RESP3. */
const { value } = fc.letrec<{ value: string; plain: string }>((tie) => ({
  plain: fc.oneof(
    ...["+", "-", ":", "_", ",", "#", "("].map((type) => line.map((one) => `${type}${one}\r\n`)),
    ...["$", "!", "="].map(bulk),
    fc.constantFrom("$-1\r\n", "*-1\r\n"),
  ),
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    tie("plain"),
    ...["*", "~", ">"].map((type) => aggregate(type, tie("value"), 1)),
    aggregate("%", tie("value"), 2),
    fc.tuple(aggregate("|", tie("plain"), 2), tie("value")).map((pair) => pair.join("")),
  ),
}));

function follow(bytes: Buffer, sizes: readonly number[], each: (at: number) => void, boundaries: ValueBoundaries): void {
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const chunk = bytes.subarray(at, at + (sizes[turn % sizes.length] ?? 1));
    boundaries.push(chunk);
    at += chunk.length;
    each(at);
  }
}

const chunkSizes = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1 });

test("replies end where their headers say so, whatever the chunks in which they arrive; pushes are not counted", () => {
  fc.assert(
    fc.property(fc.array(value, { minLength: 1, maxLength: 6 }), chunkSizes, (all, sizes) => {
      let end = 0;
      const ends = new Set(all.map((one) => (end += one.length)));
      const boundaries = new ValueBoundaries();
      follow(Buffer.from(all.join("")), sizes, (at) => expect([at, boundaries.atBoundary]).toEqual([at, ends.has(at)]), boundaries);
      expect(boundaries.count).toBe(all.filter((one) => !one.startsWith(">")).length);
      expect(boundaries.isError).toBe(all.at(-1)?.startsWith("-"));
    }),
  );
});

test("commands are arrays, or lines of any text; empty lines are none", () => {
  const command = fc.oneof(
    aggregate("*", bulk("$"), 1),
    line.map((one) => `P${one}\r\n`),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(command, fc.constantFrom("", "\r\n")), { minLength: 1, maxLength: 6 }), chunkSizes, (all, sizes) => {
      const boundaries = new ValueBoundaries(true);
      follow(Buffer.from(all.flat().join("")), sizes, () => {}, boundaries);
      expect([boundaries.count, boundaries.atBoundary]).toEqual([all.length, true]);
    }),
  );
});

test("what is not RESP, or too deep, has no boundary any more, and nothing is held of it", () => {
  for (const bytes of ["HTTP/1.1 200 OK\r\n", "$x\r\n", "*1-\r\n", `$${"9".repeat(16)}\r\n`, "*1\r\n".repeat(5_000)]) {
    const boundaries = new ValueBoundaries();
    boundaries.push(Buffer.from(bytes));
    boundaries.push(Buffer.from("+OK\r\n"));
    expect([bytes.slice(0, 20), boundaries.atBoundary, boundaries.count]).toEqual([bytes.slice(0, 20), false, 0]);
  }
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), chunkSizes, (bytes, sizes) => {
      follow(Buffer.from(bytes), sizes, () => {}, new ValueBoundaries());
      follow(Buffer.from(bytes), sizes, () => {}, new ValueBoundaries(true));
    }),
  );
});
