import { spawnSync } from "node:child_process";
import fc from "fast-check";
import { expect, test } from "vitest";
import { someRuns } from "../test/fuzz/some-runs.ts";
import { shellQuote } from "./shell-quote.ts";

test("plain words stay plain, others are quoted", () => {
  expect(shellQuote(["psql", "--port=1", "a b", "it's", ""])).toBe("psql --port=1 'a b' 'it'\\''s' ''");
});

test("a shell reads the same words", () => {
  const word = fc.string({ maxLength: 20 }).filter((text) => !text.includes("\0") && text.isWellFormed());
  fc.assert(
    fc.property(fc.array(word, { maxLength: 4 }), (words) => {
      const { stdout } = spawnSync("/bin/sh", ["-c", `printf '%s\\0' ${shellQuote(words)}`], { encoding: "utf8" });
      expect(stdout).toBe(words.length === 0 ? "\0" : `${words.join("\0")}\0`);
    }),
    { numRuns: someRuns(30) },
  );
});
