import fc from "fast-check";
import { expect, test } from "vitest";
import { countCommands, errorLine } from "./serve-redis.ts";

test("each command that a client has sent in one go gets an answer", () => {
  expect(countCommands("*1\r\n$4\r\nPING\r\n")).toBe(1);
  expect(countCommands("*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n*4\r\n$6\r\nCLIENT\r\n$7\r\nSETINFO\r\n$1\r\na\r\n$1\r\nb\r\n")).toBe(2);
  expect(countCommands("PING\r\n")).toBe(1);
  expect(countCommands("*1\r\n$4\r\nPING\r\n".repeat(10_000))).toBe(100);
});

test("an error is one line, whatever it says", () => {
  const code = fc.constantFrom("denied", "unauthenticated", "unavailable", "internal");
  fc.assert(
    fc.property(code, fc.string(), fc.option(fc.string(), { nil: undefined }), (which, message, hint) => {
      const line = errorLine({ code: which as "denied", message, hint });
      expect(line).toMatch(/^-[A-Z]+ [^\r\n]*\r\n$/);
    }),
  );
});
