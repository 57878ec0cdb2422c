import { expect, test } from "vitest";
import { hasSameEnds } from "./same-ends.ts";

const [a, b, c, d] = [{ row: "a" }, { row: "b" }, { row: "c" }, { row: "d" }];

test.for([
  ["nothing yet", undefined, undefined, true],
  ["the first answer", undefined, [], false],
  ["the same rows", [a, b], [a, b], true],
  ["one more at the end", [a, b], [a, b, c], false],
  ["one less at the beginning", [a, b], [b], false],
  ["one more for one less", [a, b, c], [a, c, d], false],
] as const)("%s", ([, before, now, isSame]) => {
  expect(hasSameEnds(before, now)).toBe(isSame);
});
