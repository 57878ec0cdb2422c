import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyCharacter } from "../../test/fuzz/any-character.ts";
import { PlatformError } from "../errors/platform-error.ts";
import { formatHostPort, ipOf, parseHostPort } from "./host-port.ts";

describe("parseHostPort", () => {
  test.for<readonly [text: string, defaultPort: number | undefined, host: string, port: number]>([
    ["example.com:3080", undefined, "example.com", 3080],
    ["example.com", 443, "example.com", 443],
    ["example.com:3080", 443, "example.com", 3080],
    ["10.0.0.1:0", undefined, "10.0.0.1", 0],
    ["[fd00::1]:3080", undefined, "fd00::1", 3080],
    ["[fd00::1]", 443, "fd00::1", 443],
    ["fd00::1", 443, "fd00::1", 443],
    ["[fe80::1%eth0]:1", undefined, "fe80::1%eth0", 1],
    ["under_score:65535", undefined, "under_score", 65_535],
  ])("%s with default %s", ([text, defaultPort, host, port]) => {
    expect(parseHostPort(text, defaultPort, "web_listen_addr")).toEqual({ host, port });
  });

  test.for<readonly [text: string, why: string]>([
    ["", "is not host:port"],
    [":3080", "is not host:port"],
    ["example.com", "has no port"],
    ["fd00::1", "has no port"],
    ["example.com:", "is not host:port"],
    ["example.com:x", "is not host:port"],
    ["example.com:65536", "has port 65536"],
    ["example.com:-1", "is not host:port"],
    ["https://example.com:3080", "has a scheme"],
    ["example.com:3080/path", "is not host:port"],
    ["[example.com]:1", "brackets around something that is not an IPv6 address"],
    ["[abc]:1", "brackets around something that is not an IPv6 address"],
    ["a b:1", "is not host:port"],
    ["a\r\nb:1", "is not host:port"],
  ])("%j is refused, with the name of the setting", ([text, why]) => {
    expect(() => parseHostPort(text, undefined, "web_listen_addr")).toThrow(PlatformError);
    expect(() => parseHostPort(text, undefined, "web_listen_addr")).toThrow(/^web_listen_addr: /);
    expect(() => parseHostPort(text, undefined, "web_listen_addr")).toThrow(why);
  });

  test("a formatted address is parsed back", () => {
    fc.assert(
      fc.property(fc.oneof(fc.domain(), fc.ipV4(), fc.ipV6()), fc.nat(65_535), (host, port) => {
        expect(parseHostPort(formatHostPort({ host, port }), undefined, "x")).toEqual({ host, port });
      }),
    );
  });

  test("any text is parsed or refused with a PlatformError", () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), fc.option(fc.nat(65_535), { nil: undefined }), (text, port) => {
        try {
          expect(parseHostPort(text, port, "x").port).toBeLessThanOrEqual(65_535);
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(PlatformError);
        }
      }),
    );
  });
});

test.for([
  ["192.0.2.7:40000", "192.0.2.7"],
  ["192.0.2.7", "192.0.2.7"],
  ["[2001:db8::7]:40000", "2001:db8::7"],
  ["2001:db8::7", "2001:db8::7"],
  ["::ffff:192.0.2.7", "192.0.2.7"],
  ["[::ffff:192.0.2.7]:22", "192.0.2.7"],
  ["[::ffff:c000:207]:22", "192.0.2.7"],
  ["::FFFF:c000:207", "192.0.2.7"],
  ["[2001:DB8:0:0:0:0:0:1]:22", "2001:db8::1"],
  ["::1", "::1"],
  ["unknown:0", ""],
  ["", ""],
  ["192.0.2.700:1", ""],
  ["192.0.2.7:400000", ""],
  ["web.example.com:22", ""],
] as const)("%s is at %s", ([address, ip]) => {
  expect(ipOf(address)).toBe(ip);
});
