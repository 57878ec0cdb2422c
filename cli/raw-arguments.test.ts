import fc from "fast-check";
import { expect, test } from "vitest";
import { bytesOf, textOf, withRawBytes } from "./raw-arguments.ts";

/** Without NUL, which no argument holds. */
const argument = fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes.filter((byte) => byte !== 0)));

test("whatever the bytes of arguments are, they come back", () => {
  fc.assert(
    fc.property(fc.array(argument, { maxLength: 5 }), (wanted) => {
      const line = Buffer.concat([Buffer.from("/usr/bin/tsh"), ...wanted].flatMap((one) => [one, Buffer.of(0)]));
      const args = withRawBytes(
        wanted.map((one) => one.toString("utf8")),
        line,
      );
      expect(args.map((arg) => bytesOf(arg).toString("hex"))).toEqual(wanted.map((one) => one.toString("hex")));
    }),
  );
});

test("text stays what it is, and a byte that is not UTF-8 is one character", () => {
  expect(textOf(Buffer.from("grün 😀 \ufffd"))).toBe("grün 😀 \ufffd");
  expect(textOf(Buffer.from("gr\xfcn/file", "latin1"))).toBe("gr\udcfcn/file");
});

test.for([
  ["other words", "tsh\0scp\0other\0"],
  ["fewer words", "a\ufffd\0"],
  ["nothing", ""],
] as const)("a command line of %s is not believed", ([, line]) => {
  const args = ["scp", "a\ufffd"];
  expect(withRawBytes(args, Buffer.from(line))).toBe(args);
});
