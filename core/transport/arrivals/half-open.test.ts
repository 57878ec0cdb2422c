import { EventEmitter } from "node:events";
import fc from "fast-check";
import { expect, test } from "vitest";
import { FailedArrivals, HalfOpen } from "./half-open.ts";

/** The part of a socket that HalfOpen uses. */
class FakeSocket extends EventEmitter {
  readonly remoteAddress: string;
  isDestroyed = false;
  constructor(remoteAddress: string) {
    super();
    this.remoteAddress = remoteAddress;
  }
  destroy(): void {
    this.isDestroyed = true;
    this.emit("close");
  }
}

function arrive(halfOpen: HalfOpen, address: string): FakeSocket {
  const socket = new FakeSocket(address);
  halfOpen.enter(socket);
  return socket;
}

test("beyond the limit the oldest is dropped", () => {
  const halfOpen = new HalfOpen(2);
  const [first, second, third] = ["a", "a", "a"].map((address) => arrive(halfOpen, address));
  expect([first, second, third].map((socket) => socket?.isDestroyed)).toEqual([true, false, false]);
  expect([halfOpen.size, halfOpen.dropped]).toEqual([2, 1]);
});

test("a flood from one address drops its own connections, and none of another address", () => {
  const halfOpen = new HalfOpen(100);
  const honest = ["192.0.2.1", "192.0.2.2", "192.0.2.2"].map((address) => arrive(halfOpen, address));
  const flood = Array.from({ length: 10_000 }, () => arrive(halfOpen, "198.51.100.7"));
  expect(honest.some(({ isDestroyed }) => isDestroyed)).toBe(false);
  expect(flood.filter(({ isDestroyed }) => !isDestroyed)).toHaveLength(97);
  expect(arrive(halfOpen, "192.0.2.3").isDestroyed).toBe(false);
});

test("for any arrivals and departures: never more than the limit, and nothing is left at the end", () => {
  const step = fc.record({ address: fc.constantFrom("a", "b", "c"), leaves: fc.nat(20), by: fc.constantFrom("leave", "close") });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), fc.integer({ min: 1, max: 10 }), (steps, limit) => {
      const halfOpen = new HalfOpen(limit);
      const sockets: FakeSocket[] = [];
      for (const { address, leaves, by } of steps) {
        sockets.push(arrive(halfOpen, address));
        expect(halfOpen.size).toBeLessThanOrEqual(limit);
        const one = sockets[leaves];
        if (one !== undefined && by === "leave") halfOpen.leave(one);
        if (one !== undefined && by === "close") one.destroy();
      }
      for (const socket of sockets) socket.destroy();
      expect(halfOpen.size).toBe(0);
    }),
  );
});

test("the first failure is logged at once, the rest by one line a minute with their count and the last one", () => {
  const lines: unknown[] = [];
  let now = 0;
  const failed = new FailedArrivals({ log: { info: (_text, fields) => void lines.push(fields) }, clock: () => now });
  failed.add("192.0.2.1:1", "timeout");
  for (let count = 2; count <= 10_000; count += 1) failed.add(`192.0.2.1:${count}`, "closed");
  expect(lines).toEqual([{ count: 1, peer: "192.0.2.1:1", error: "timeout" }]);
  now = 60_000;
  failed.tell();
  failed.tell();
  expect(lines.slice(1)).toEqual([{ count: 9999, peer: "192.0.2.1:10000", error: "closed" }]);
});
