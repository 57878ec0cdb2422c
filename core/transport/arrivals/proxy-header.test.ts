import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalIp } from "../canonical-ip.ts";
import { parseProxyHeader } from "./proxy-header.ts";

const signature = "0d0a0d0a000d0a515549540a";
/** A header of version 2: command, family, and what follows, hexadecimal. */
const binary = (command: string, family: string, rest: string, length = rest.length / 2): Buffer =>
  Buffer.from(`${signature}${command}${family}${length.toString(16).padStart(4, "0")}${rest}`, "hex");
const line = (text: string): Buffer => Buffer.from(`${text}\r\n`);
const v4 = "c0000207c6336401d4311bb8";
const v6 = `20010db8000000000000000000000007${"0".repeat(31)}1d4311bb8`;
const mapped = `${"0".repeat(20)}ffffc0000207${"0".repeat(31)}1d4311bb8`;

describe("a client is read from", () => {
  test.for<readonly [what: string, header: Buffer, client: object | undefined]>([
    ["a line, IPv4", line("PROXY TCP4 192.0.2.7 198.51.100.1 54321 443"), { host: "192.0.2.7", port: 54_321 }],
    ["a line, IPv6", line("PROXY TCP6 2001:db8::7 ::1 54321 443"), { host: "2001:db8::7", port: 54_321 }],
    ["a line, IPv6 written at length", line("PROXY TCP6 2001:DB8:0:0:0:0:0:1 ::1 54321 443"), { host: "2001:db8::1", port: 54_321 }],
    ["a line, IPv4 in IPv6", line("PROXY TCP6 ::ffff:c000:207 ::1 54321 443"), { host: "192.0.2.7", port: 54_321 }],
    ["a line of a balancer that does not know", line("PROXY UNKNOWN"), undefined],
    ["the same with more", line("PROXY UNKNOWN ffff::1 ffff::2 1 2"), undefined],
    ["bytes, IPv4", binary("21", "11", v4), { host: "192.0.2.7", port: 54_321 }],
    ["bytes, IPv6", binary("21", "21", v6), { host: "2001:db8::7", port: 54_321 }],
    ["bytes, IPv4 in IPv6", binary("21", "21", mapped), { host: "192.0.2.7", port: 54_321 }],
    ["bytes with extensions", binary("21", "11", `${v4}030004aabbccdd`), { host: "192.0.2.7", port: 54_321 }],
    ["a health check", binary("20", "00", ""), undefined],
    ["a health check with addresses", binary("20", "11", v4), undefined],
    ["a Unix socket", binary("21", "31", "00".repeat(216)), undefined],
  ])("%s, whatever follows and however the bytes arrive", ([, header, client]) => {
    for (const after of [Buffer.alloc(0), Buffer.from("\x16\x03\x01 PROXY TCP4")]) {
      expect(parseProxyHeader(Buffer.concat([header, after]))).toEqual({ length: header.length, client });
    }
    for (let length = 0; length < header.length; length += 1) expect(parseProxyHeader(header.subarray(0, length))).toBeUndefined();
  });
});

test.for<readonly [what: string, bytes: Buffer]>([
  ["TLS", Buffer.from("160301", "hex")],
  ["SSH", Buffer.from("SSH-2.0-x\r\n")],
  ["HTTP", Buffer.from("PUT / HTTP/1.1\r\n")],
  ["small letters", line("proxy TCP4 192.0.2.7 198.51.100.1 1 2")],
  ["a line without an end", Buffer.from(`PROXY UNKNOWN ${"x".repeat(100)}`)],
  ["a line that is too long", line(`PROXY UNKNOWN ${"x".repeat(92)}`)],
  ["another family", line("PROXY UDP4 192.0.2.7 198.51.100.1 1 2")],
  ["a name in the place of an address", line("PROXY TCP4 localhost 198.51.100.1 1 2")],
  ["IPv6 as IPv4", line("PROXY TCP4 ::1 ::1 1 2")],
  ["a zone", line("PROXY TCP6 fe80::1%eth0 ::1 1 2")],
  ["a port that is none", line("PROXY TCP4 192.0.2.7 198.51.100.1 65536 2")],
  ["a port with a zero before it", line("PROXY TCP4 192.0.2.7 198.51.100.1 01 2")],
  ["a part too many", line("PROXY TCP4 192.0.2.7 198.51.100.1 1 2 3")],
  ["two spaces", line("PROXY TCP4  192.0.2.7 198.51.100.1 1 2")],
  ["another version", binary("11", "11", v4)],
  ["another command", binary("22", "11", v4)],
  ["datagrams", binary("21", "12", v4)],
  ["addresses cut short", binary("21", "21", v4)],
  ["too much behind", binary("21", "11", v4, 4_097)],
])("refused: %s", ([, bytes]) => {
  expect(() => parseProxyHeader(bytes)).toThrow(expect.objectContaining({ code: "invalid" }));
});

test("any bytes are a header, the start of one, or refused", () => {
  const start = fc.constantFrom("", "PROXY ", "PROXY TCP4 ", "PROXY TCP6 ").map((text) => Buffer.from(text));
  const two = fc.constantFrom("21", "20", "22").map((command) => Buffer.from(`${signature}${command}`, "hex"));
  fc.assert(
    fc.property(fc.oneof(start, two), fc.uint8Array({ maxLength: 300 }), (head, tail) => {
      const bytes = Buffer.concat([head, tail]);
      try {
        const found = parseProxyHeader(bytes);
        if (found === undefined) expect(bytes.length).toBeLessThan(16 + 4_096);
        else expect(found.length).toBeLessThanOrEqual(bytes.length);
      } catch (thrown) {
        expect(thrown).toMatchObject({ code: "invalid" });
      }
    }),
  );
});

test("addresses and ports of version 2 come out as they went in", () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), fc.nat(65_535), (address, port) => {
      const rest = Buffer.concat([address, Buffer.alloc(16), Buffer.from([port >> 8, port & 255, 0, 1])]);
      const { client } = parseProxyHeader(binary("21", "21", rest.toString("hex"))) ?? {};
      const groups = Array.from({ length: 8 }, (_, group) =>
        Buffer.from(address)
          .readUInt16BE(2 * group)
          .toString(16),
      ).join(":");
      expect(client?.port).toBe(port);
      expect(client?.host).toBe(canonicalIp(groups));
    }),
  );
});
