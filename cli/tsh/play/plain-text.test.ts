import fc from "fast-check";
import { expect, test } from "vitest";
import { anyCharacter } from "../../../test/fuzz/any-character.ts";
import { PlainText } from "./plain-text.ts";

function plain(...chunks: string[]): string {
  const text = new PlainText();
  return chunks.map((chunk) => text.take(chunk)).join("") + text.end();
}

test.for<[what: string, shown: string, text: string]>([
  ["lines", "one\r\ntwo\r\n", "one\ntwo\n"],
  ["colours and titles", "\u001b]0;title\u0007\u001b[1;31mred\u001b[0m \u001b(Bx\r\n", "red x\n"],
  ["a line that is written over", "10%\r100%\r\n", "100%\n"],
  ["what was rubbed out", "lsx\b\u001b[K -l\r\n", "ls -l\n"],
  ["what was inserted", "ac\b\u001b[@b\r\n", "abc\n"],
  ["what was deleted", "abbc\b\b\u001b[P\r\n", "abc\n"],
  ["a last line without an end", "$ exit", "$ exit\n"],
  ["an escape that is none", "a\u001b\u0001b\u001b\r\nc\r\n", "ab\nc\n"],
  ["other letters", "caf\u00e9 \ud83d\ude00\r\n", "caf\u00e9 \ud83d\ude00\n"],
  ["a cursor sent far away", "\u001b[999999999Cx\r\n", `${" ".repeat(9999)}x\n\n`],
])("%s", ([, shown, text]) => {
  expect(plain(shown)).toBe(text);
  expect(plain(...shown.split(/(?<=[\s\S])/u))).toBe(text);
});

test("any text in any pieces gives lines without an escape, and the same ones", () => {
  const piece = fc.oneof(
    fc.string({ unit: anyCharacter }),
    fc.constantFrom("\u001b", "\u001b[", "\u001b]", "\u0007", "[5P", "\r", "\n", "\b", "\u001b[2K"),
  );
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      const text = plain(...pieces.map((one) => one.toWellFormed()));
      expect(text).not.toContain("\r");
      expect(text === "" || text.endsWith("\n")).toBe(true);
    }),
  );
});

test("an escape without an end is not waited for without end", () => {
  expect(plain(`\u001b]${"x".repeat(100_000)}`, "\r\nafter\r\n")).toContain("after\n");
});
