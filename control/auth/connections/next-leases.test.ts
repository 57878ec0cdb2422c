import fc from "fast-check";
import { expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { type Lease, leaseSeconds, leasesInForce, takeLease } from "./connections.ts";

const start = new Date("2026-11-20T12:00:00Z");
const at = (seconds: number): Date => new Date(start.getTime() + seconds * 1000);
const ask = { user: "alice", id: "1", host: "h", maximum: 1, now: start };

test("a place is taken, renewed by its id, refused to a second one by the limit's name, and free again when it expires", () => {
  const taken = takeLease([], ask);
  expect(takeLease(taken, { ...ask, now: at(30) })).toMatchObject([{ id: "1", expires: at(30 + leaseSeconds).toISOString() }]);
  const second = (now: Date) => takeLease(taken, { ...ask, id: "2", now });
  expect(() => second(at(1))).toThrow("connection limit reached: alice already has 1 connection to this cluster (max_connections)");
  expect(second(at(leaseSeconds))).toMatchObject([{ id: "2" }]);
});

test("the same id of another host is another connection", () => {
  expect(() => takeLease(takeLease([], ask), { ...ask, host: "other" })).toThrow(PlatformError);
});

test("a smaller limit than there are connections takes none away, and renews none either", () => {
  const two = takeLease(takeLease([], { ...ask, maximum: 2 }), { ...ask, id: "2", maximum: 2 });
  expect(() => takeLease(two, { ...ask, maximum: 1 })).toThrow(/1 connection/);
});

test("whatever is asked in whatever order, there are never more in force than the limit", () => {
  const step = fc.record({ id: fc.constantFrom("1", "2", "3", "4"), host: fc.constantFrom("a", "b"), wait: fc.nat(40), ends: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step), fc.integer({ min: 1, max: 3 }), (steps, maximum) => {
      let leases: readonly Lease[] = [];
      let time = 0;
      for (const { id, host, wait, ends } of steps) {
        time += wait;
        const now = at(time);
        if (ends) leases = leases.filter((lease) => lease.id !== id || lease.host !== host);
        else {
          const before = leasesInForce(leases, now).length;
          try {
            leases = takeLease(leases, { user: "u", id, host, maximum, now });
          } catch {
            expect(before).toBe(maximum);
          }
        }
        expect(leasesInForce(leases, now).length).toBeLessThanOrEqual(maximum);
      }
    }),
  );
});
