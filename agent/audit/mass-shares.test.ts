import fc from "fast-check";
import { expect, test } from "vitest";
import { type MassOwner, type MassRoom, MassShares } from "./mass-shares.ts";

const kube = (user: string): MassOwner => ({ service: "kube", user });

/** Takes room in pieces until there is none. Returns the bytes. `others`: bytes that are taken already. */
function fill(shares: MassShares, owner: MassOwner, { isHeld = false, others = 0 } = {}): number {
  const room = { owner, bytes: 10, isHeld };
  let taken = 0;
  for (; shares.hasShare(room, others + taken) && shares.hasRoom(room, others + taken); taken += 10) shares.take(room);
  return taken;
}

test("a user alone may take three quarters of the service's half, the next one three quarters of what is left to it, and so on", () => {
  const shares = new MassShares(80_000, true);
  expect(fill(shares, kube("ann"))).toBe(30_000);
  expect(fill(shares, kube("bob"), { others: 30_000 })).toBe(7_500);
  expect(fill(shares, kube("cid"), { others: 37_500 })).toBeGreaterThan(1_800);
  shares.giveBack({ owner: kube("ann"), bytes: 30_000, isHeld: false });
  expect(fill(shares, kube("dan"), { others: 10_000 })).toBeGreaterThan(20_000);
});

test("a user alone may hold a fifth of it, the next one a fifth of what is left; what is used may be held again", () => {
  const shares = new MassShares(100_000, true);
  expect(fill(shares, kube("ann"), { isHeld: true })).toBe(10_000);
  expect(fill(shares, kube("bob"), { isHeld: true, others: 10_000 })).toBe(8_000);
  shares.use(kube("ann"), 5_000);
  expect(fill(shares, kube("ann"), { isHeld: true, others: 13_000 })).toBeGreaterThan(1_000);
});

test("refusals of a user have a small share of their own beside all else that the user has taken", () => {
  const refusals = { ...kube("ann"), part: "refusals" } as const;
  const shares = new MassShares(80_000, true);
  expect(fill(shares, kube("ann"))).toBe(30_000);
  expect(fill(shares, refusals, { others: 30_000 })).toBe(2_000);
  expect(fill(shares, kube("bob"), { others: 32_000 })).toBe(6_000);
});

test("a user who takes all they may, refusals and others in any order, leaves a fifth of the half", () => {
  const refusals = { ...kube("ann"), part: "refusals" } as const;
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), fc.nat(4_000))), (steps) => {
      const shares = new MassShares(80_000, true);
      let all = 0;
      const take = (owner: MassOwner, bytes: number): void => {
        const room = { owner, bytes, isHeld: false };
        if (!shares.hasShare(room, all) || !shares.hasRoom(room, all)) return;
        shares.take(room);
        all += bytes;
      };
      for (const [isRefusal, bytes] of steps) take(isRefusal ? refusals : kube("ann"), bytes);
      all += fill(shares, kube("ann"), { others: all });
      all += fill(shares, refusals, { others: all });
      expect(all).toBeLessThanOrEqual(32_000);
      expect(fill(shares, kube("bob"), { others: all })).toBeGreaterThan(5_900);
    }),
  );
});

test("whatever comes and goes, no service has more than half, all have three quarters, and a new user of each service finds room", () => {
  const step = fc.record({
    owner: fc.record({
      service: fc.constantFrom("kube", "db", "app"),
      user: fc.constantFrom("ann", "bob", "cid", "dan"),
      part: fc.constantFrom(undefined, "refusals"),
    }),
    bytes: fc.nat(6_000),
    isHeld: fc.boolean(),
    leaves: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const shares = new MassShares(100_000, true);
      const taken: MassRoom[] = [];
      const sum = (service?: string): number =>
        taken.filter(({ owner }) => service === undefined || owner.service === service).reduce((all, { bytes }) => all + bytes, 0);
      for (const { leaves, ...room } of steps) {
        if (shares.hasShare(room, sum()) && shares.hasRoom(room, sum())) {
          shares.take(room);
          taken.push(room);
        }
        const gone = leaves ? taken.shift() : undefined;
        if (gone !== undefined) shares.giveBack(gone);
        expect(Math.max(sum("kube"), sum("db"), sum("app"))).toBeLessThan(50_000);
        expect(sum()).toBeLessThanOrEqual(75_000);
      }
      // With a few bytes left there is no part of them.
      for (const service of ["kube", "db", "app"] as const)
        expect(sum() > 74_990 || sum(service) > 49_990 || shares.hasShare({ owner: { service, user: "new" }, bytes: 1, isHeld: true }, sum())).toBe(
          true,
        );
      for (const room of taken) shares.giveBack(room);
      expect(shares.hasShare({ owner: kube("ann"), bytes: 37_500, isHeld: false }, 0)).toBe(true);
    }),
  );
});

test("a service without others has all that masses may have", () => {
  expect(fill(new MassShares(80_000, false), kube("ann"))).toBe(45_000);
});

test("the next user finds room, too, where something else has taken most of it", () => {
  const shares = new MassShares(80_000, true);
  // Segments from before a restart, of which nobody knows whose they are.
  expect(fill(shares, kube("ann"), { others: 50_000 })).toBe(7_500);
  expect(fill(shares, kube("bob"), { others: 57_500 })).toBeGreaterThan(1_500);
});
