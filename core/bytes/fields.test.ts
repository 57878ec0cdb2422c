import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PlatformError } from "../errors/platform-error.ts";
import { Reader, string, u8, u32, u64 } from "./fields.ts";

describe("Reader", () => {
  test("reads back what the writer wrote", () => {
    const texts = fc.string({ unit: "grapheme" }).filter((text) => text.isWellFormed());
    fc.assert(
      fc.property(fc.nat(255), fc.nat(0xffff_ffff), fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), fc.uint8Array(), texts, (a, b, c, d, e) => {
        const reader = new Reader(Buffer.concat([u8(a), u32(b), u64(c), string(Buffer.from(d)), string(e)]));
        expect([reader.u8(), reader.u32(), reader.u64(), reader.string(), reader.text()]).toEqual([a, b, c, Buffer.from(d), e]);
        expect(reader.done).toBe(true);
        reader.end("message");
      }),
    );
  });

  test("any calls on any bytes read within the buffer or throw a PlatformError, and a refused call consumes at most a length", () => {
    const call = fc.constantFrom("u8" as const, "u32" as const, "u64" as const, "string" as const, "text" as const);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), fc.array(call, { maxLength: 20 }), (bytes, calls) => {
        const reader = new Reader(Buffer.from(bytes));
        for (const name of calls) {
          try {
            reader[name]();
          } catch (thrown) {
            expect(thrown).toBeInstanceOf(PlatformError);
          }
          expect(reader.position + reader.remaining).toBe(bytes.length);
          expect(reader.remaining).toBeGreaterThanOrEqual(0);
        }
      }),
    );
  });

  test.for<readonly [name: string, bytes: Buffer, read: (reader: Reader) => unknown]>([
    ["u8", Buffer.alloc(0), (reader) => reader.u8()],
    ["u32", Buffer.alloc(3), (reader) => reader.u32()],
    ["u64", Buffer.alloc(7), (reader) => reader.u64()],
    ["a string with a wrong length", Buffer.concat([u32(0xffff_ffff), Buffer.alloc(9)]), (reader) => reader.string()],
    ["text that is not UTF-8", string(Buffer.of(0xc3, 0x28)), (reader) => reader.text()],
    ["unread bytes", Buffer.alloc(1), (reader) => reader.end("message")],
  ])("%s is refused as invalid", ([, bytes, read]) => {
    expect(() => read(new Reader(bytes))).toThrow(expect.objectContaining({ name: "PlatformError", code: "invalid" }));
  });

  test("a byte order mark is part of the text", () => {
    expect(new Reader(string("\ufeffa")).text()).toBe("\ufeffa");
  });
});
