import { expect, test } from "vitest";
import { noPasskeys } from "./passkey-place.ts";

const cases = [
  ["access.example.com", "access.example.com:443", true, undefined],
  ["access.example.com:3080", "Access.example.com:3080", true, undefined],
  ["localhost:3080", undefined, true, undefined],
  ["access.example.com", undefined, false, /browser/],
  ["10.0.0.1", undefined, true, /IP address/],
  ["10.0.0.1:3080", "access.example.com:443", true, /IP address/],
  ["[::1]:3080", undefined, true, /IP address/],
  ["box:3080", "access.example.com:443", true, / at access\.example\.com alone/],
  ["access.example.com:8443", "access.example.com:443", true, / at access\.example\.com alone/],
  ["box:3080", "10.0.0.1:3080", true, /IP address/],
] as const;

test.for(cases)("at %s of the proxy %s, supported: %s", ([host, proxy, isSupported, expected]) => {
  const found = noPasskeys({ host, isSupported, ...(proxy !== undefined && { proxy }) });
  if (expected === undefined) expect(found).toBeUndefined();
  else expect(found).toMatch(expected);
});
