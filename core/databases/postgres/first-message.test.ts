import fc from "fast-check";
import { expect, test } from "vitest";
import { PlatformError } from "../../errors/platform-error.ts";
import { lengthOfFirst, readFirst } from "./first-message.ts";

const u32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const codes = { cancel: 80_877_102, tls: 80_877_103, gss: 80_877_104, startup: 196_608 };
const message = (code: number, body: Buffer = Buffer.alloc(0)): Buffer => Buffer.concat([u32(8 + body.length), u32(code), body]);

test.for<readonly [what: string, bytes: Buffer, expected: object, length: number]>([
  ["a request for TLS", message(codes.tls), { kind: "tls" }, 8],
  ["a request for encryption by Kerberos", message(codes.gss), { kind: "gss" }, 8],
  ["a startup packet of 3.0, of which only the head is looked at", message(codes.startup, Buffer.from("user\0a\0\0")), { kind: "startup" }, 8],
  ["one of 3.2", message(196_610, Buffer.from("user\0a\0\0")), { kind: "startup" }, 8],
  ["a ClientHello", Buffer.from([22, 3, 1, 2, 0]), { kind: "hello" }, 1],
  ["a cancel of 3.0", message(codes.cancel, Buffer.alloc(8, 7)), { kind: "cancel", key: Buffer.alloc(8, 7) }, 16],
  ["a cancel of 3.2", message(codes.cancel, Buffer.alloc(36, 7)), { kind: "cancel", key: Buffer.alloc(36, 7) }, 44],
])("%s", ([, bytes, expected, length]) => {
  expect(lengthOfFirst(bytes)).toBe(length);
  expect(readFirst(bytes.subarray(0, length))).toEqual(expected);
  for (let size = 1; size < Math.min(8, length); size += 1) expect(lengthOfFirst(bytes.subarray(0, size))).toBeUndefined();
});

test.for<readonly [what: string, bytes: Buffer]>([
  ["HTTP", Buffer.from("GET / HTTP/1.1\r\n")],
  ["a length of 7", Buffer.concat([u32(7), u32(codes.startup)])],
  ["a length of 2 GiB", Buffer.concat([u32(2 ** 31), u32(codes.startup)])],
  ["a startup packet beyond the servers' limit", Buffer.concat([u32(10_005), u32(codes.startup)])],
  ["a request for TLS with a body", message(codes.tls, Buffer.from("x"))],
  ["a cancel without a secret", message(codes.cancel, Buffer.alloc(4))],
  ["a cancel with a secret of 257 bytes", message(codes.cancel, Buffer.alloc(4 + 257))],
])("refused: %s", ([, bytes]) => {
  expect(() => lengthOfFirst(bytes)).toThrow(expect.objectContaining({ code: "invalid" }));
});

test("any bytes, in any pieces, are decided within the limit, or refused", () => {
  const known = fc.constantFrom(...Object.values(codes));
  const any = fc.oneof(
    fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
    fc
      .tuple(fc.nat({ max: 12_000 }), known, fc.uint8Array({ maxLength: 300 }))
      .map(([length, code, body]) => Buffer.concat([u32(length), u32(code), body])),
  );
  fc.assert(
    fc.property(any, (bytes) => {
      for (let size = 1; size <= bytes.length; size += 1) {
        try {
          const length = lengthOfFirst(bytes.subarray(0, size));
          if (length === undefined) expect(size).toBeLessThan(8);
          else expect(length).toBeLessThanOrEqual(272);
          if (length !== undefined && length <= size) readFirst(bytes.subarray(0, length));
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(PlatformError);
        }
      }
    }),
  );
});
