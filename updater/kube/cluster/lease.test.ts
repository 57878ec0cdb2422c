import fc from "fast-check";
import { expect, test } from "vitest";
import { decideLease, leaseMs, renewDeadlineMs, type SeenLease } from "./lease.ts";

const held = (holder: string, since: number): SeenLease => ({ lease: { holder, resourceVersion: "1", transitions: 0, note: "" }, since });

test.for<readonly [name: string, seen: SeenLease, now: number, act: string]>([
  ["there is none", { lease: undefined, since: 0 }, 0, "create"],
  ["it is this controller's", held("me", 0), 2_000, "renew"],
  ["it is this controller's, and has run out", held("me", 0), 60_000, "renew"],
  ["it was released", held("", 0), 1, "take"],
  ["another one has just renewed it", held("other", 1_000), 2_000, "wait"],
  ["another one has not renewed it for almost its duration", held("other", 1_000), 1_000 + leaseMs - 1, "wait"],
  ["another one has not renewed it for its duration", held("other", 1_000), 1_000 + leaseMs, "take"],
])("%s", ([, seen, now, act]) => {
  expect(decideLease(seen, { me: "me", now })).toBe(act);
});

test("a holder has stopped acting before anybody else may take the lease, however the two clocks differ", () => {
  fc.assert(
    fc.property(fc.nat(100_000), fc.nat(5_000), fc.integer(), fc.nat(60_000), (renewed, delay, offset, later) => {
      const now = renewed + later;
      // The other one sees the renewal when it has been written, never before it began.
      const act = decideLease(held("holder", renewed + delay + offset), { me: "other", now: now + offset });
      if (act === "take") expect(now - renewed).toBeGreaterThanOrEqual(renewDeadlineMs);
    }),
  );
});
