import fc from "fast-check";
import { afterEach, expect, test, vi } from "vitest";
import { StatusText } from "./program-exit.ts";

afterEach(() => void vi.restoreAllMocks());

const exitCode = (code: string) =>
  JSON.stringify({ status: "Failure", reason: "NonZeroExitCode", details: { causes: [{ reason: "ExitCode", message: code }] } });

test.for([
  ["success", JSON.stringify({ status: "Success" }), { code: 0 }],
  ["a status", exitCode("7"), { code: 7 }],
  ["a status that is not a number", exitCode("7x"), { error: "" }],
  ["a failure", JSON.stringify({ status: "Failure", message: "killed ü" }), { error: "killed ü" }],
  ["a line of text", "it broke", { error: "it broke" }],
  ["a text without end", "x".repeat(100_000), { error: "x".repeat(2_000) }],
  ["a failure with a longer message than the limit", JSON.stringify({ message: "x".repeat(70_000) }), { error: `{"message":"${"x".repeat(1_988)}` }],
] as const)("%s is read however it comes", ([, text, exit]) => {
  const bytes = Buffer.from(text);
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 40_000 }), { maxLength: 20 }), (sizes) => {
      const status = new StatusText();
      let at = 0;
      for (const size of [...sizes, bytes.length]) {
        status.take(bytes.subarray(at, at + size));
        at += size;
      }
      expect(status.exit).toEqual(exit);
    }),
  );
});

test("nothing is stated by a stream without bytes", () => {
  const status = new StatusText();
  expect(status.exit).toBeUndefined();
  status.take(Buffer.alloc(0));
  expect(status.exit).toBeUndefined();
});

test("a text that comes byte by byte is parsed once", () => {
  const parse = vi.spyOn(JSON, "parse");
  const status = new StatusText();
  for (const byte of Buffer.from(exitCode("9").padEnd(1_024))) status.take(Buffer.of(byte));
  expect(parse).not.toHaveBeenCalled();
  expect(status.exit).toEqual({ code: 9 });
  expect(parse).toHaveBeenCalledTimes(1);
});
