import fc from "fast-check";
import { expect, test } from "vitest";
import { commandWords } from "./command-words.ts";
import { shellWord } from "./size.ts";

test.for([
  ["", []],
  ["  ", []],
  ["bash", ["bash"]],
  [" ls  -l\t/ ", ["ls", "-l", "/"]],
  ["sh -c 'echo \"a\" $HOME'", ["sh", "-c", 'echo "a" $HOME']],
  ['echo "a \\"b\\" \\\\ \\n"', ["echo", 'a "b" \\ \\n']],
  ["a'b'\"c\"d", ["abcd"]],
  ["echo '' \"\"", ["echo", "", ""]],
  ["a\\ b \\'", ["a b", "'"]],
  ["echo $(date) | cat; x", ["echo", "$(date)", "|", "cat;", "x"]],
  ["'open", undefined],
  ['"open', undefined],
  ['"open\\"', undefined],
  ["end\\", undefined],
] as const)("%s is %o", ([line, words]) => {
  expect(commandWords(line)).toEqual(words);
});

test("words that are quoted for a shell come back as they were", () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: fc.constantFrom("a", "é", "😀", " ", "'", '"', "\\", "$", "\n", "\0"), maxLength: 20 }), { maxLength: 8 }),
      (words) => {
        expect(commandWords(words.map((word) => (word === "" ? "''" : shellWord(word))).join(" "))).toEqual(words);
      },
    ),
  );
});

test("any line is read, and in time", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom("'", '"', "\\", " ", "a", "\n"), maxLength: 200 }), (line) => {
      const words = commandWords(line);
      if (words !== undefined) expect(words.join("").length).toBeLessThanOrEqual(line.length);
    }),
  );
});
