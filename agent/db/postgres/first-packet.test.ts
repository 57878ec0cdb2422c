import fc from "fast-check";
import { expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { decodeFirstPacket, encodeCancel, encodeStartup, firstPacketLength, tlsRequest } from "./first-packet.ts";

const bytes = (min: number, max: number) => fc.uint8Array({ minLength: min, maxLength: max }).map((array) => Buffer.from(array));
const filled = (min: number) => bytes(min, 40).map((value) => Buffer.from(value.map((byte) => byte || 1)));
const startups = fc.record({
  minor: fc.nat(0xffff),
  parameters: fc.array(fc.record({ name: filled(1).map((name) => name.toString("latin1")), value: filled(0) }), { maxLength: 20 }),
});

test("startup packets are read as they were written", () => {
  fc.assert(
    fc.property(startups, (startup) => {
      const packet = encodeStartup(startup);
      expect(firstPacketLength(packet)).toBe(packet.length);
      expect(decodeFirstPacket(packet)).toEqual({ kind: "startup", ...startup });
    }),
  );
});

test("cancel requests are read as they were written, with secrets of 4 to 256 bytes", () => {
  fc.assert(
    fc.property(fc.nat(0xffff_ffff), bytes(4, 256), (pid, secret) => {
      expect(decodeFirstPacket(encodeCancel({ pid, secret }))).toEqual({ kind: "cancel", pid, secret });
    }),
  );
});

test("any bytes are a first packet, or invalid, or of an unsupported version", () => {
  const code = fc.constantFrom(80_877_102, 80_877_103, 80_877_104, 196_608, 196_610, 131_072);
  const packets = fc.tuple(fc.option(code), bytes(0, 400)).map(([first, rest]) => {
    const head = Buffer.alloc(8);
    head.writeUInt32BE(8 + rest.length);
    head.writeUInt32BE(first ?? rest.length * 77_777, 4);
    return Buffer.concat([head, rest]);
  });
  fc.assert(
    fc.property(packets, (packet) => {
      try {
        expect(decodeFirstPacket(packet.subarray(0, firstPacketLength(packet))).kind).toBeTypeOf("string");
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(PlatformError);
        expect((thrown as PlatformError).code).toMatch(/^(?:invalid|unsupported)$/);
      }
    }),
  );
});

test.for([
  ["a length of nothing", "00000000"],
  ["a length less than the code", "00000007"],
  ["10,001 bytes behind the length", "00002715"],
  ["4 GiB", "ffffffff"],
  ["HTTP", Buffer.from("GET ").toString("hex")],
])("%s is refused before anything is read", ([, head = ""]) => {
  expect(() => firstPacketLength(Buffer.from(head, "hex"))).toThrow(/announces/);
});

test("10,000 bytes are allowed, and a client's TLS is recognized", () => {
  expect(firstPacketLength(Buffer.from("00002714", "hex"))).toBe(10_004);
  expect(() => firstPacketLength(Buffer.from("16030102", "hex"))).toThrow(
    expect.objectContaining({ code: "invalid", hint: expect.stringContaining("sslmode") }),
  );
});

test.for<[what: string, hex: string, code: string]>([
  ["a secret of 3 bytes", "0000000f04d2162e0000000101020f", "invalid"],
  ["a request for TLS with a body", "0000000904d2162f00", "invalid"],
  ["parameters without an end", "0000000d000300007573657200", "invalid"],
  ["a name without a value", "0000000e00030000757365720000", "invalid"],
  ["bytes behind the end", "0000000a000300000001", "invalid"],
  ["protocol 2", "0000000800020000", "unsupported"],
])("%s is refused", ([, hex, code]) => {
  expect(() => decodeFirstPacket(Buffer.from(hex, "hex"))).toThrow(expect.objectContaining({ code }));
});

test("the request for TLS is the one of the protocol, and an oversized startup packet is not sent", () => {
  expect(tlsRequest.toString("hex")).toBe("0000000804d2162f");
  const parameters = [{ name: "options", value: Buffer.alloc(10_000, "x") }];
  expect(() => encodeStartup({ minor: 0, parameters })).toThrow(/10014 bytes/);
});
