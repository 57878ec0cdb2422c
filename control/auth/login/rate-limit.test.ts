import { expect, test } from "vitest";
import { createRateLimit } from "./rate-limit.ts";

const start = new Date("2026-01-01T00:00:00Z");
const later = (seconds: number) => new Date(start.getTime() + seconds * 1000);

test("a burst is let through, then as many a minute as configured", () => {
  const limit = createRateLimit({ perMinute: 20, burst: 40 });
  for (let calls = 0; calls < 40; calls += 1) limit.take("203.0.113.7", start);
  expect(() => limit.take("203.0.113.7", start)).toThrow(expect.objectContaining({ code: "limit" }));
  expect(() => limit.check("203.0.113.7", later(2))).toThrow(expect.objectContaining({ code: "limit" }));
  limit.check("203.0.113.7", later(3));
  limit.take("203.0.113.7", later(3));
  expect(() => limit.take("203.0.113.7", later(3))).toThrow();
  limit.take("203.0.113.8", later(3));
});

test.for([
  ["2001:db8:1:2::1", "2001:db8:1:2:ffff::9", true],
  ["2001:db8:1:2::1", "2001:db8:1:3::1", false],
  ["2001:db8::1", "2001:db8:0:0:1::", true],
  ["::ffff:203.0.113.7", "::ffff:203.0.113.8", false],
  ["203.0.113.7:1024", "203.0.113.7:1025", true],
  ["203.0.113.7:1024", "203.0.113.8:1024", false],
  ["[2001:db8:1:2::1]:1024", "2001:db8:1:2:ffff::9", true],
] as const)("%s and %s share a bucket: %s", ([one, other, shared]) => {
  const limit = createRateLimit({ perMinute: 1, burst: 1 });
  limit.take(one, start);
  if (shared) expect(() => limit.take(other, start)).toThrow();
  else limit.take(other, start);
});
