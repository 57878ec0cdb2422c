import { Socket } from "node:net";
import { expect, test } from "vitest";
import { RequestLimit } from "./request-limit.ts";

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
