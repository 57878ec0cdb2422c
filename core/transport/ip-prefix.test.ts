import { expect, test } from "vitest";
import { IpSet, isPrefix, isWide } from "./ip-prefix.ts";

test.for(["10.0.0.0/8", "192.0.2.1", "fe80::/10", "::1", "::/0"])("%s is a prefix", (text) => {
  expect(isPrefix(text)).toBe(true);
});

test.for(["", "10.0.0.0/33", "::/129", "10.0.0/8", "host", "10.0.0.0/-1", "10.0.0.0/8/8"])("%j is none", (text) => {
  expect(isPrefix(text)).toBe(false);
});

test.for([
  ["0.0.0.0/0", true],
  ["::/0", true],
  ["0.0.0.0/1", true],
  ["128.0.0.0/1", true],
  ["64.0.0.0/7", true],
  ["2000::/3", true],
  ["2400::/15", true],
  ["fc00::/6", true],
  ["::ffff:0:0/96", true],
  ["::ffff:8000:0/97", true],
  ["64:ff9b::/96", true],
  ["::/96", true],
  ["::/64", true],
  ["10.0.0.0/8", false],
  ["35.191.0.0/16", false],
  ["192.0.2.7", false],
  ["2400:cb00::/32", false],
  ["2600::/16", false],
  ["fc00::/7", false],
  ["fd00::/8", false],
  ["fe80::/10", false],
  ["fe80::/9", true],
  ["::1", false],
  ["::ffff:10.0.0.0/104", false],
  ["not a prefix", false],
] as const)("%s is wider than any network: %s", ([text, isTooWide]) => {
  expect(isWide(text)).toBe(isTooWide);
});

test.for([
  ["169.254.169.254", true],
  ["169.255.0.1", false],
  ["::ffff:169.254.169.254", true],
  ["::ffff:a9fe:a9fe", true],
  ["64:ff9b::a9fe:a9fe", true],
  ["::169.254.169.254", true],
  ["64:ff9b::a00:1", false],
  ["fe80::1%eth0", true],
  ["2001:db8::1", false],
  ["not an address", false],
] as const)("%s: %s", ([address, isInside]) => {
  expect(new IpSet(["169.254.0.0/16", "fe80::/10"]).has(address)).toBe(isInside);
});
