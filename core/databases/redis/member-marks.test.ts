import fc from "fast-check";
import { expect, test } from "vitest";
import { type MarkedPiece, MarkReader, markSecretBytes, memberMark, newMarkSecret } from "./member-marks.ts";

/** Bytes that never make a secret, whatever stands around them: its first and last bytes are none of them. */
const plain = (maxLength: number, minLength = 0) => fc.uint8Array({ minLength, maxLength, max: 0xfd }).map((bytes) => Buffer.from(bytes));
const secret = plain(markSecretBytes - 2, markSecretBytes - 2).map((inner) => Buffer.from([0xfe, ...inner, 0xff]));
const member = fc.tuple(fc.domain(), fc.integer({ min: 1, max: 65_535 })).map(([host, port]) => `${host}:${port}`);

function inPieces(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const ends = [...new Set(cuts.map((cut) => cut % (bytes.length + 1))), bytes.length].toSorted((a, b) => a - b);
  return ends.map((end, index) => Buffer.from(bytes.subarray(ends[index - 1] ?? 0, end)));
}

function text(pieces: readonly MarkedPiece[], rest: Buffer): string {
  return [...pieces.map((piece) => ("member" in piece ? `<${piece.member}>` : piece.bytes.toString("latin1"))), rest.toString("latin1")].join("");
}

test("marks are found among any bytes, whatever the pieces in which they arrive; beginnings of the secret pass as they are", () => {
  const part = (own: Buffer) =>
    fc.oneof(
      plain(40).map((bytes) => ({ bytes, seen: bytes.toString("latin1") })),
      fc.integer({ min: 0, max: markSecretBytes - 1 }).map((length) => {
        const bytes = own.subarray(0, length);
        return { bytes, seen: bytes.toString("latin1") };
      }),
      member.map((name) => ({ bytes: memberMark(own, name), seen: `<${name}>` })),
    );
  const streams = secret.chain((own) =>
    fc.record({ own: fc.constant(own), parts: fc.array(part(own), { maxLength: 12 }), cuts: fc.array(fc.nat()) }),
  );
  fc.assert(
    fc.property(streams, ({ own, parts, cuts }) => {
      const reader = new MarkReader();
      const stream = Buffer.concat([own, ...parts.map(({ bytes }) => bytes)]);
      const pieces = inPieces(stream, cuts).flatMap((piece) => reader.push(piece));
      expect(text(pieces, reader.rest())).toBe(parts.map(({ seen }) => seen).join(""));
    }),
  );
});

test("a reply is complete when its line feed has arrived: no secret begins with one", () => {
  for (let tries = 0; tries < 2_000; tries += 1) {
    const reader = new MarkReader();
    reader.push(newMarkSecret());
    expect(text(reader.push(Buffer.from("$1\r\nx\r\n")), Buffer.alloc(0))).toBe("$1\r\nx\r\n");
  }
});

test("any bytes of an agent are read, or refused for a mark that is too long, and hold no more than a mark", () => {
  fc.assert(
    fc.property(secret, fc.array(fc.oneof(fc.uint8Array({ maxLength: 60 }), fc.constant(undefined)), { maxLength: 20 }), (own, parts) => {
      const reader = new MarkReader();
      try {
        for (const part of [own, ...parts]) reader.push(part === undefined ? own : Buffer.from(part));
      } catch (thrown) {
        expect(thrown).toMatchObject({ code: "invalid" });
      }
      expect(reader.rest().length).toBeLessThanOrEqual(288);
    }),
  );
});

test("an address that is too long has no mark", () => {
  expect(() => memberMark(Buffer.alloc(markSecretBytes), "h".repeat(271))).toThrow(expect.objectContaining({ code: "invalid" }));
});

test("a stream that ends within its secret holds nothing for its client", () => {
  const reader = new MarkReader();
  expect(reader.push(Buffer.alloc(5))).toEqual([]);
  expect(reader.rest()).toHaveLength(0);
});
