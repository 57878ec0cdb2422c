import fc from "fast-check";
import { expect, test } from "vitest";
import { type Hit, TextSearch } from "./text-search.ts";

function search(wanted: string, events: readonly (readonly [time: number, text: string])[]): readonly Hit[] {
  const one = new TextSearch(wanted);
  return [...events.flatMap(([time, text]) => one.push(time, text)), ...one.end()];
}

test("a text is found in any case, across events and escape sequences, with the time at which it was there", () => {
  const events = [
    [1, "$ ls\r\nRE\u001b[1;3"],
    [2, "1mAD\u001b[0mme.md"],
    [3, "  src\r\n$ "],
  ] as const;
  expect(search("readme", events)).toEqual([{ time: 2, line: "READme.md  src" }]);
  expect(search("$", events)).toEqual([
    { time: 1, line: "$ ls" },
    { time: 3, line: "$" },
  ]);
});

test("what an escape sequence holds is not text, and a corrected letter is not there", () => {
  expect(search("secret", [[1, "\u001b]0;secret\u0007a\u001b]8;;https://secret.example/\u001b\\b"]])).toEqual([]);
  expect(search("rm", [[1, "rn\bm -rf"]])).toEqual([{ time: 1, line: "rm -rf" }]);
});

test("a line without end is bounded, and is found in its parts", () => {
  const hits = search("needle", [[1, "x".repeat(1_000_000)], ...Array.from({ length: 300 }, (_, at) => [2 + at, "needle"] as const)]);
  expect(hits.length).toBeGreaterThan(0);
  for (const { line } of hits) expect(line.length).toBeLessThanOrEqual(4_000);
});

test("a sequence that never ends holds nothing up for ever", () => {
  const events = Array.from({ length: 100 }, (_, at) => [at, `\u001b]${"y".repeat(1000)}`] as const);
  expect(search("needle", [...events, [200, "\u0007 needle\r\n"]])).toMatchObject([{ time: 200 }]);
});

test("a word is found however the output is cut", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(60), { maxLength: 6 }), (cuts) => {
      const text = "\u001b[32mone\u001b[0m two\r\nthe needle here\u001b[K\r\n\u001b]0;title\u0007end";
      const ends = [...cuts.map((cut) => Math.min(cut, text.length)).sort((a, b) => a - b), text.length];
      const parts = ends.map((end, at) => [at, text.slice(ends[at - 1] ?? 0, end)] as const);
      expect(search("needle", parts).map(({ line }) => line)).toEqual(["the needle here"]);
    }),
  );
});
