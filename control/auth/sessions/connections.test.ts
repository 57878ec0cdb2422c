import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { openTestAuth } from "../../../test/inside/open-auth.ts";
import { takeLease } from "./connections.ts";
import { type Lease, leaseSeconds, leasesInForce } from "./stored-leases.ts";

describe("connections of a user", () => {
  const ask = (connectionId: string, maximum = 2) => ({ user: "alice", connectionId, maximum });

  test("a limit holds over restarts and between calls at once, is each user's own, and frees what is given back or expires", async () => {
    await using t = await openTestAuth();
    const all = await Promise.allSettled(["1", "2", "3", "4", "5"].map((id) => t.admin.holdConnection(ask(id))));
    expect(all.map(({ status }) => status).sort()).toEqual(["fulfilled", "fulfilled", "rejected", "rejected", "rejected"]);
    await t.restart();
    await expect(t.admin.holdConnection(ask("9"))).rejects.toMatchObject({ code: "limit", message: expect.stringContaining("max_connections") });
    await t.admin.holdConnection({ ...ask("9"), user: "bob" });
    const held = all.findIndex(({ status }) => status === "fulfilled");
    await t.admin.releaseConnection({ user: "alice", connectionId: String(held + 1) });
    await t.admin.holdConnection(ask("6"));
    t.forward(30_000);
    await t.admin.holdConnection(ask("6"));
    t.forward(31_000);
    await t.admin.holdConnection(ask("7"));
    await expect(t.admin.holdConnection(ask("8"))).rejects.toMatchObject({ code: "limit" });
  });

  test.for([ask("", 1), ask("1", 0), { ...ask("1"), user: "" }, ask("x".repeat(65))])("%j is refused as invalid", async (wrong) => {
    await using t = await openTestAuth();
    await expect(t.admin.holdConnection(wrong)).rejects.toMatchObject({ code: "invalid" });
  });
});

describe("leases", () => {
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
});
