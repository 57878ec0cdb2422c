import fc from "fast-check";
import { expect, test } from "vitest";
import { splitInline } from "./split-inline.ts";

test.for([
  ["", []],
  ["  \t ", []],
  ["PING\r", ["PING"]],
  ["set k v", ["set", "k", "v"]],
  ['set k "a b" ', ["set", "k", "a b"]],
  ['set k "\\x41\\n\\r\\t\\b\\a\\"\\q\\xzz"', ["set", "k", 'A\n\r\t\b\x07"qxzz']],
  ["set k 'a \\' \\n b'", ["set", "k", "a ' \\n b"]],
  ['set k""', ["set", "k"]],
  ['""', [""]],
  ["a\vb c", ["a\vb", "c"]],
] as [string, string[]][])("%j is split as by the servers", ([line, words]) => {
  expect(splitInline(Buffer.from(line, "latin1")).map((word) => word.toString("latin1"))).toEqual(words);
});

test.for(['"', 'auth "secret', "'a", '"a"b', "'a'b", "a\0b", '"\\'])("%j is malformed, and the error does not repeat it", (line) => {
  expect(() => splitInline(Buffer.from(line))).toThrow(/^Protocol error: (unbalanced quotes in request|NUL in an inline command)$/);
});

test("any line is split or malformed", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(..."ab \t\"'\\x4n\0\r\v")), (chars) => {
      try {
        expect(splitInline(Buffer.from(chars.join(""))).length).toBeLessThanOrEqual(chars.length);
      } catch (thrown) {
        expect(thrown).toMatchObject({ code: "invalid" });
      }
    }),
  );
});

test("any words in quotes come back", () => {
  const quoted = (word: Uint8Array): string => `"${[...word].map((one) => `\\x${one.toString(16).padStart(2, "0")}`).join("")}"`;
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 20 })), (words) => {
      expect(splitInline(Buffer.from(words.map(quoted).join(" "))).map((word) => [...word])).toEqual(words.map((word) => [...word]));
    }),
  );
});
