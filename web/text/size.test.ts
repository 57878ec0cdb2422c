import { expect, test } from "vitest";
import { countText, shellWord, sizeText } from "./size.ts";

test.for([
  [0, "0 B"],
  [1023, "1023 B"],
  [1536, "1.5 KiB"],
  [5 * 1024 ** 2, "5.0 MiB"],
  [3000 * 1024 ** 3, "3000.0 GiB"],
] as const)("%d bytes are %s", ([bytes, text]) => {
  expect(sizeText(bytes)).toBe(text);
});

test("a number comes with its noun", () => {
  expect([countText(0, "host"), countText(1, "host"), countText(10_000, "host"), countText(2, "entry", "entries")]).toEqual([
    "0 hosts",
    "1 host",
    "10,000 hosts",
    "2 entries",
  ]);
});

test.for([
  ["orders", "orders"],
  ["a b", "'a b'"],
  ["it's", "'it'\\''s'"],
  ["$(id)", "'$(id)'"],
  ["", "''"],
] as const)("%s is written as %s on a command line", ([text, word]) => {
  expect(shellWord(text)).toBe(word);
});
