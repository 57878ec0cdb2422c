import fc from "fast-check";
import { expect, test } from "vitest";
import { anyCharacter } from "../../test/fuzz/any-character.ts";
import { visibleWord } from "./visible-word.ts";

test.for([
  ["postgres-0", "postgres-0"],
  ["", "''"],
  ["ls -l  | sh", "'ls -l  | sh'"],
  ["it's", "'it'\\''s'"],
  ["größe 漢字 😀", "'größe 漢字 😀'"],
  ["a\nb\t\r", "$'a\\nb\\t\\r'"],
  ["\u001b[8m'x'\\", "$'\\u001b[8m\\'x\\'\\\\'"],
  ["safe\u202egpj.sh", "$'safe\\u202egpj.sh'"],
  ["a\u00a0b\u2028c", "$'a\\u00a0b\\u2028c'"],
  ["\u3164\u2800\u200b\u{e0041}", "$'\\u3164\\u2800\\u200b\\U000e0041'"],
  ["e\u0301\ud800", "$'e\\u0301\\ud800'"],
] as const)("%j is shown as %s", ([text, shown]) => {
  expect(visibleWord(text)).toBe(shown);
});

test("whatever a word holds, only characters that are seen are shown, and what is shown stands for one word", () => {
  const words = new Map<string, string>();
  const unit = fc.oneof(anyCharacter, fc.constantFrom(..."'\\u$20e \n\u202e"));
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 6 }), (text) => {
      const shown = visibleWord(text);
      expect(shown).toMatch(/^[ -~\p{L}\p{N}\p{P}\p{S}]+$/u);
      expect(shown).not.toMatch(/[\p{Default_Ignorable_Code_Point}\u2800]/u);
      expect(words.get(shown) ?? text).toBe(text);
      words.set(shown, text);
    }),
  );
});
