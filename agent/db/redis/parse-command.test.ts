import fc from "fast-check";
import { expect, test } from "vitest";
import { parseCommand } from "./parse-command.ts";
import { encodeCommand } from "./resp.ts";

test("a command is found once it is complete, and what follows is left", () => {
  const word = fc.uint8Array({ maxLength: 30 }).map((bytes) => Buffer.from(bytes));
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 10 }), fc.nat(), (words, cut) => {
      const bytes = encodeCommand(words);
      const parsed = parseCommand(Buffer.concat([bytes, Buffer.from("*1\r\nrest")]));
      expect(parsed).toEqual({ words, encoded: bytes, length: bytes.length });
      expect(parseCommand(bytes.subarray(0, cut % bytes.length))).toBeUndefined();
    }),
  );
});

test("an inline command is encoded as an array; an empty one has no words", () => {
  expect(parseCommand(Buffer.from("AUTH alice 'a b'\r\nPING"))).toMatchObject({ encoded: encodeCommand(["AUTH", "alice", "a b"]), length: 18 });
  expect(parseCommand(Buffer.from("\r\n"))).toMatchObject({ words: [], length: 2 });
  expect(parseCommand(Buffer.from("*0\r\n"))).toMatchObject({ words: [], length: 4 });
});

test.for([
  ["eleven arguments", "*11\r\n"],
  ["an argument of more than 16 KiB", "*2\r\n$4\r\nAUTH\r\n$16385\r\n"],
  ["a negative length", "*1\r\n$-1\r\n"],
  ["another type", "*1\r\n+OK\r\n"],
  ["an argument that is longer than announced", "*1\r\n$1\r\nxyz"],
  ["a length without its CR", "*1\n"],
  ["a length without an end", `*${"1".repeat(40)}`],
  ["an inline command without an end", "x".repeat(65_536)],
])("before the login, %s is malformed", ([, text = ""]) => {
  expect(() => parseCommand(Buffer.from(text))).toThrow(expect.objectContaining({ code: "invalid" }));
});

test("any bytes give a command, nothing, or `invalid`", () => {
  const bits = fc.constantFrom("*1\r\n", "*2\r\n", "$4\r\nAUTH\r\n", "$1\r\n", "x", "\r\n", "*", "$", '"', "-1");
  fc.assert(
    fc.property(
      fc.oneof(
        fc.array(bits).map((all) => Buffer.from(all.join(""))),
        fc.uint8Array().map((bytes) => Buffer.from(bytes)),
      ),
      (bytes) => {
        try {
          expect(parseCommand(bytes)?.length ?? 0).toBeLessThanOrEqual(bytes.length);
        } catch (thrown) {
          expect(thrown).toMatchObject({ code: "invalid" });
        }
      },
    ),
  );
});
