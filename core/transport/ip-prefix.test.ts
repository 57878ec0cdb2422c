import { expect, test } from "vitest";
import { IpSet, isPrefix } from "./ip-prefix.ts";

test.for(["10.0.0.0/8", "192.0.2.1", "fe80::/10", "::1", "::/0"])("%s is a prefix", (text) => {
  expect(isPrefix(text)).toBe(true);
});

test.for(["", "10.0.0.0/33", "::/129", "10.0.0/8", "host", "10.0.0.0/-1", "10.0.0.0/8/8"])("%j is none", (text) => {
  expect(isPrefix(text)).toBe(false);
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
