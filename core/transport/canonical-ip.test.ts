import { isIPv4, isIPv6 } from "node:net";
import fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalIp } from "./canonical-ip.ts";

test.for<readonly [written: string, canonical: string]>([
  ["192.0.2.7", "192.0.2.7"],
  ["::ffff:192.0.2.7", "192.0.2.7"],
  ["::FFFF:192.0.2.7", "192.0.2.7"],
  ["::ffff:c000:207", "192.0.2.7"],
  ["0:0:0:0:0:ffff:c000:0207", "192.0.2.7"],
  ["::ffff:0:0", "0.0.0.0"],
  ["2001:DB8:0:0:0:0:0:1", "2001:db8::1"],
  ["2001:db8::1", "2001:db8::1"],
  ["::1", "::1"],
  ["::ffff:0:192.0.2.7", "::ffff:0:c000:207"],
  ["fe80::1%eth0", "fe80::1%eth0"],
  ["unknown", "unknown"],
  ["", ""],
])("%s is %s", ([written, canonical]) => {
  expect(canonicalIp(written)).toBe(canonical);
});

test("all ways to write an address have one form, which is its own", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(65_535), { minLength: 8, maxLength: 8 }), (groups) => {
      const written = groups.map((group) => group.toString(16));
      const full = written.map((group) => group.padStart(4, "0").toUpperCase());
      const canonical = canonicalIp(written.join(":"));
      expect(canonicalIp(full.join(":"))).toBe(canonical);
      expect(canonicalIp(canonical)).toBe(canonical);
      expect(isIPv4(canonical) || isIPv6(canonical)).toBe(true);
    }),
  );
  fc.assert(
    fc.property(fc.ipV4(), (address) => {
      expect(canonicalIp(`::ffff:${address}`)).toBe(address);
    }),
  );
});
