import fc from "fast-check";
import { expect, test } from "vitest";
import { Reader } from "../../../core/bytes/fields.ts";
import { readValue } from "./binary-value.ts";
import { encodeLenencBytes } from "./wire.ts";

test("values of each type have the text that a client would write", () => {
  const double = Buffer.alloc(8);
  double.writeDoubleLE(1.5);
  const values: [number, Buffer, string][] = [
    [0x01, Buffer.of(255), "-1"],
    [0x8001, Buffer.of(255), "255"],
    [0x02, Buffer.of(0, 128), "-32768"],
    [0x03, Buffer.of(1, 0, 0, 0), "1"],
    [0x8008, Buffer.alloc(8, 255), "18446744073709551615"],
    [0x08, Buffer.alloc(8, 255), "-1"],
    [0x05, double, "1.5"],
    [0x0c, Buffer.of(11, 232, 7, 2, 3, 4, 5, 6, 63, 66, 15, 0), "2024-02-03 04:05:06.999999"],
    [0x07, Buffer.of(7, 232, 7, 2, 3, 4, 5, 6), "2024-02-03 04:05:06"],
    [0x0b, Buffer.of(8, 1, 2, 0, 0, 0, 3, 4, 5), "-51:04:05"],
    [0x0b, Buffer.of(0), "00:00:00"],
    [0xf6, encodeLenencBytes(Buffer.from("12.34")), "12.34"],
    [0xfc, encodeLenencBytes(Buffer.of(0, 255)), "AP8="],
    [0xfd, encodeLenencBytes(Buffer.alloc(5_000, 0x61)), `${"a".repeat(249)}… (cut)`],
  ];
  for (const [type, bytes, text] of values) {
    const reader = new Reader(bytes);
    expect(readValue(reader, type)).toBe(text);
    expect(reader.done).toBe(true);
  }
});

test("types that servers do not read alike are invalid", () => {
  // NULL, INT24, YEAR, NEWDATE, BOOL; a TINY and a text with a further bit.
  for (const type of [0x06, 0x09, 0x0d, 0x0e, 0xf4, 0x0101, 0x41fe]) {
    expect(() => readValue(new Reader(Buffer.alloc(20, 1)), type)).toThrow(/type/);
  }
});

test("any bytes are a bounded text, or invalid", () => {
  fc.assert(
    fc.property(fc.nat(65_535), fc.uint8Array({ maxLength: 600 }), (type, bytes) => {
      try {
        expect(readValue(new Reader(Buffer.from(bytes)), type).length).toBeLessThanOrEqual(256);
      } catch (thrown) {
        expect(thrown).toMatchObject({ code: "invalid" });
      }
    }),
  );
});
