import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { cutText } from "./cut-text.ts";

test.for([
  ["", 3, ""],
  ["abc", 3, "abc"],
  ["abcd", 3, "abc"],
  ["grüße", 4, "grüß"],
  // A pair of surrogates is not left in half.
  ["ab😀", 3, "ab\ufffd"],
] as const)("%j cut to %i characters is %j", ([text, length, cut]) => {
  expect(cutText(text, length)).toBe(cut);
});

test("a cut text keeps nothing of the rest alive", () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const used = (): number => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const before = used();
  const kept = Array.from({ length: 16 }, (_, at) => cutText(JSON.parse(`"${at}${"a".repeat(4_000_000)}"`) as string, 256));
  expect(used() - before).toBeLessThan(8_000_000);
  expect(kept).toHaveLength(16);
});
