import fc from "fast-check";
import { expect, test } from "vitest";
import { RoomShares } from "./room-shares.ts";

const [mib, gib] = [1024 * 1024, 1024 ** 3];
const options = { share: 0.1, leastBytes: 96 * mib, leastPerSecond: 64 * 1024 };

/** Bytes that an owner gets rid of within this time by trying a MiB again and again. */
function stored(
  shares: RoomShares,
  { owner = "host", from = 0, seconds = 0, room }: { owner?: string; from?: number; seconds?: number; room: number },
) {
  let bytes = 0;
  for (let second = 0; second <= seconds; second += 1) {
    const now = new Date((from + second) * 1000);
    while (shares.take(owner, mib, { room, now })) bytes += mib;
  }
  return bytes;
}

test("an owner may fill a tenth of what is free at once, and as much again in a day", () => {
  const shares = new RoomShares(options);
  expect(stored(shares, { room: 100 * gib })).toBe(10 * gib);
  expect(stored(shares, { room: 100 * gib, from: 86_400 })).toBe(10 * gib);
  expect(stored(shares, { room: 100 * gib, from: 86_400, seconds: 600 }) / 600).toBeCloseTo((10 * gib) / 86_400, -5);
  expect(stored(shares, { owner: "another", room: 100 * gib })).toBe(10 * gib);
});

test("a busy database's events are not held up on a usual disk: 3,000 a second for half an hour", () => {
  const shares = new RoomShares(options);
  for (let second = 0; second < 1_800; second += 1) {
    expect(shares.take("host", 3_000 * 1_000, { room: 60 * gib, now: new Date(second * 1000) })).toBe(true);
  }
});

test("with little room there is what an agent keeps while this service is away, and a little each second", () => {
  const shares = new RoomShares(options);
  expect(stored(shares, { room: 0 })).toBe(96 * mib);
  expect(stored(shares, { room: 0, from: 1, seconds: 59 })).toBeLessThanOrEqual(60 * 64 * 1024);
});

test("hosts that fill a disk together never fill all of it", () => {
  const shares = new RoomShares({ ...options, leastBytes: 0, leastPerSecond: 0 });
  let room = 100 * gib;
  for (let host = 0; host < 40; host += 1) room -= stored(shares, { owner: `h${host}`, room });
  expect(room).toBeGreaterThan(gib);
});

test("never more than the share, however it is asked for", () => {
  const ask = fc.record({ bytes: fc.integer({ min: 0, max: 50 * mib }), after: fc.integer({ min: 0, max: 5_000 }) });
  fc.assert(
    fc.property(fc.array(ask, { maxLength: 60 }), fc.integer({ min: 0, max: 20 * gib }), (asks, room) => {
      const shares = new RoomShares(options);
      let [time, taken] = [0, 0];
      for (const { bytes, after } of asks) {
        time += after;
        if (shares.take("host", bytes, { room, now: new Date(time) })) taken += bytes;
      }
      const limit = Math.max(options.leastBytes, room * 0.1);
      expect(taken).toBeLessThanOrEqual(limit + (time / 1000) * Math.max(options.leastPerSecond, limit / 86_400) + 1);
    }),
  );
});
