import { expect, test } from "vitest";
import { type Outcome, shownOutcomes, unsent } from "./upload-outcomes.ts";

const many = (is: Outcome["is"], count: number): readonly Outcome[] => Array.from({ length: count }, (_, at) => ({ text: `${is} ${at}`, is }));
const textsOf = (all: readonly Outcome[]): readonly string[] => shownOutcomes(all).map(({ text }) => text);

test("a few outcomes are shown as they came", () => {
  const few = [...many("stored", 9), ...many("failed", 2), ...many("kept", 9)];
  expect(shownOutcomes(few)).toEqual(few);
});

test("a failure stays in sight, however many files come after it", () => {
  const all = [...many("failed", 2), ...many("kept", 1), ...many("stored", 98)];
  expect(shownOutcomes(all)[0]).toEqual({ text: "98 files are stored.", is: "failed" });
  expect(textsOf(all).slice(1, 4)).toEqual(["failed 0", "failed 1", "stored 80"]);
  expect([textsOf(all).length, textsOf(all).at(-1)]).toEqual([21, "stored 97"]);
});

test("of many failures the first ones are shown, and how many files are stored", () => {
  const texts = textsOf([...many("stored", 1), ...many("failed", 500), unsent(3)]);
  expect(texts).toEqual(["1 file is stored.", ...Array.from({ length: 20 }, (_, at) => `failed ${at}`)]);
});

test.for([
  [1, "1 more file was not sent."],
  [1_200, "1,200 more files were not sent."],
] as const)("%d files that were not sent are named", ([count, text]) => {
  expect(unsent(count)).toEqual({ text, is: "failed" });
});
