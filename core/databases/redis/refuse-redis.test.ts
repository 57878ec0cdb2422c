import fc from "fast-check";
import { expect, test } from "vitest";
import { errorReply } from "./error-reply.ts";
import { countCommands } from "./refuse-redis.ts";

test("each command that a client has sent in one go gets an answer", () => {
  expect(countCommands("*1\r\n$4\r\nPING\r\n")).toBe(1);
  expect(countCommands("*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n*4\r\n$6\r\nCLIENT\r\n$7\r\nSETINFO\r\n$1\r\na\r\n$1\r\nb\r\n")).toBe(2);
  expect(countCommands("PING\r\n")).toBe(1);
  expect(countCommands("*1\r\n$4\r\nPING\r\n".repeat(10_000))).toBe(100);
});

test("any bytes get an answer, and a limited number of them", () => {
  const piece = fc.oneof(fc.constantFrom("*1\r\n", "\r\n", "$4\r\n", "*"), fc.string());
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 400 }), (pieces) => {
      const count = countCommands(pieces.join(""));
      expect(count >= 1 && count <= 100).toBe(true);
    }),
  );
});

test("an error is one line, whatever it says", () => {
  const code = fc.constantFrom("denied", "unauthenticated", "unavailable", "internal");
  fc.assert(
    fc.property(code, fc.string(), fc.option(fc.string(), { nil: undefined }), (which, message, hint) => {
      const line = String(errorReply({ code: which as "denied", message, hint }));
      expect(line).toMatch(/^-[A-Z]+ [^\r\n]*\r\n$/);
    }),
  );
});
