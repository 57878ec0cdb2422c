import fc from "fast-check";
import { expect, test } from "vitest";
import { anyCharacter } from "../../test/fuzz/any-character.ts";
import { TerminalText, terminalBytes } from "./terminal-text.ts";

function textOf(chunks: readonly Buffer[]): string {
  const text = new TerminalText();
  return chunks.map((chunk) => text.take(chunk)).join("") + text.end();
}

/** Pieces of UTF-8, fragments of it, and arbitrary bytes. */
const bytes = fc
  .array(
    fc.oneof(
      fc.string({ unit: anyCharacter }).map(Buffer.from),
      fc.uint8Array({ maxLength: 6 }).map(Buffer.from),
      fc.constant(Buffer.of(0xf0, 0x9f)),
    ),
  )
  .map((parts) => Buffer.concat(parts));

test("any bytes survive, in any chunks, through JSON", () => {
  fc.assert(
    fc.property(bytes, fc.array(fc.nat(40), { maxLength: 8 }), (whole, cuts) => {
      const ends = [...cuts.map((cut) => Math.min(cut, whole.length)).sort((a, b) => a - b), whole.length];
      const chunks = ends.map((end, index) => whole.subarray(ends[index - 1] ?? 0, end));
      const text = JSON.parse(JSON.stringify(textOf(chunks))) as string;
      expect(terminalBytes(text).equals(whole)).toBe(true);
    }),
  );
});

test("UTF-8 text stays the same, wherever it is cut", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (text) => {
      const chunks = [...Buffer.from(text)].map((byte) => Buffer.of(byte));
      expect(textOf(chunks)).toBe(text.toWellFormed());
    }),
  );
});

test("a byte that is not UTF-8 becomes a lone surrogate", () => {
  expect(textOf([Buffer.from([0x61, 0xff, 0xc3, 0x28])])).toBe("a\udcff\udcc3(");
});
