import { expect, test } from "vitest";
import { matchesSource } from "./source-address.ts";

test.for([
  ["10.0.0.0/8", "10.1.2.3", true],
  ["10.0.0.0/8", "11.1.2.3", false],
  ["192.0.2.1", "192.0.2.1", true],
  ["192.0.2.1", "192.0.2.2", false],
  ["192.0.2.1, 10.0.0.0/8", "10.0.0.1", true],
  ["10.0.0.0/8", "::ffff:10.0.0.1", true],
  ["2001:db8::/32", "2001:db8::1", true],
  ["2001:db8::/32", "2001:db9::1", false],
  ["0.0.0.0/0", "2001:db8::1", false],
  ["0.0.0.0/0", "203.0.113.7", true],
  ["10.0.0.0/33", "10.0.0.1", false],
  ["10.0.0.0/8/8", "10.0.0.1", false],
  ["10.0.0.0/x", "10.0.0.1", false],
  ["10.0.0.0/", "10.0.0.1", false],
  ["10.0.0.1,nonsense", "10.0.0.1", false],
  ["", "10.0.0.1", false],
  ["0.0.0.0/0", "not an address", false],
] as const)("source-address=%s from %s: %s", ([list, address, expected]) => {
  expect(matchesSource(list, address)).toBe(expected);
});
