import { expect, test } from "vitest";
import { shownName } from "./shown-name.ts";

test.for([
  ["photo\u202egpj.sh", "photo\\u202egpj.sh"],
  ["a\u2066b\u2069", "a\\u2066b\\u2069"],
  ["two\nlines\u2028\t\u0007", "two\\u000alines\\u2028\\u0009\\u0007"],
  ["grüß 漢字 नमस्ते שלום.txt", "grüß 漢字 नमस्ते שלום.txt"],
  ["👩‍🚀❤️", "👩‍🚀❤️"],
  ["f\ufffd", "f\ufffd"],
] as const)("%j is shown as %s", ([name, shown]) => {
  expect(shownName(name)).toBe(shown);
});
