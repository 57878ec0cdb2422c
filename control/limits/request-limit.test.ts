import { Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { createRateLimit, RequestLimit } from "./request-limit.ts";

describe("calls without a certificate", () => {
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
    ["::ffff:cb00:7107", "203.0.113.7", true],
    ["::ffff:203.0.113.7", "[::ffff:cb00:7108]:1024", false],
    ["2001:DB8:1:2:0:0:0:1", "2001:db8:1:2::9", true],
    ["203.0.113.7:1024", "203.0.113.7:1025", true],
    ["203.0.113.7:1024", "203.0.113.8:1024", false],
    ["[2001:db8:1:2::1]:1024", "2001:db8:1:2:ffff::9", true],
  ] as const)("%s and %s share a bucket: %s", ([one, other, shared]) => {
    const limit = createRateLimit({ perMinute: 1, burst: 1 });
    limit.take(one, start);
    if (shared) expect(() => limit.take(other, start)).toThrow();
    else limit.take(other, start);
  });
});

describe("requests of a client", () => {
  function from(address: string): Socket {
    return Object.defineProperty(new Socket(), "remoteAddress", { value: address });
  }

  test("a client may ask a burst, then at the average", () => {
    let time = 0;
    const limit = new RequestLimit({ perMinute: 120, burst: 480, clock: () => time });
    const socket = from("192.0.2.1");
    let taken = 0;
    while (limit.take(socket)) taken += 1;
    expect(taken).toBe(480);
    expect(limit.take(from("192.0.2.1"))).toBe(false);
    expect(limit.take(from("192.0.2.2"))).toBe(true);
    time += 500;
    expect(limit.take(from("192.0.2.1"))).toBe(true);
    expect(limit.take(socket)).toBe(false);
    time += 3_600_000;
    for (taken = 0; limit.take(socket); ) taken += 1;
    expect(taken).toBe(480);
  });

  test("an IPv6 network of one person is one client", () => {
    const limit = new RequestLimit({ perMinute: 1, burst: 1, clock: () => 0 });
    expect(limit.take(from("2001:db8:1:2::1"))).toBe(true);
    expect(limit.take(from("2001:db8:1:2:ffff::2"))).toBe(false);
    expect(limit.take(from("2001:db8:1:3::1"))).toBe(true);
  });

  test("any number of clients costs bounded memory", () => {
    const limit = new RequestLimit({ perMinute: 1, burst: 1, clock: () => 0 });
    const first = "10.0.0.0";
    expect(limit.take(from(first))).toBe(true);
    expect(limit.take(from(first))).toBe(false);
    const socket = new Socket();
    for (let client = 1; client <= 10_000; client += 1) {
      limit.take(Object.defineProperty(Object.create(socket) as Socket, "remoteAddress", { value: `10.0.${client >> 8}.${client & 255}` }));
    }
    expect(limit.take(from(first))).toBe(true);
  });
});
