import { expect, test } from "vitest";
import { freshMs, UsedProofs } from "./used-proofs.ts";

const start = Date.parse("2026-11-23T08:00:00Z");
const at = (ms: number, hostId = "db-1") => ({ hostId, now: new Date(start + ms) });

test("a proof is used once, as long as it could be fresh", () => {
  const used = new UsedProofs();
  used.use("a", at(0));
  expect(() => used.use("a", at(0))).toThrow("was used before");
  // Made for a time as late as is accepted, it is fresh until then.
  expect(() => used.use("a", at(2 * freshMs - 1))).toThrow("was used before");
  used.use("b", at(2 * freshMs - 1));
});

test("proofs are forgotten when they are too old in any case, so that memory follows the rate", () => {
  const used = new UsedProofs();
  for (let second = 0; second < 10_000; second += 1) used.use(String(second), at(second * 1000));
  expect(used.size).toBe((2 * freshMs) / 1000);
});

test("beyond the bound new sessions are refused, and none is forgotten for them", () => {
  const used = new UsedProofs({ most: 2, own: 0 });
  used.use("a", at(0));
  used.use("b", at(1));
  expect(() => used.use("c", at(2))).toThrow(expect.objectContaining({ code: "limit" }));
  expect(() => used.use("a", at(3))).toThrow(expect.objectContaining({ code: "denied" }));
  used.use("c", at(2 * freshMs));
  expect(used.size).toBe(2);
});

test("hosts that use up what is for all leave every other host its own share", () => {
  const used = new UsedProofs({ most: 2, own: 3 });
  const tries = (hostId: string, ms = 0): number => {
    let taken = 0;
    try {
      for (; taken < 10; taken += 1) used.use(`${hostId} ${ms} ${taken}`, at(ms, hostId));
    } catch {
      // Too many.
    }
    return taken;
  };
  expect([tries("greedy"), tries("greedy too"), tries("calm")]).toEqual([5, 3, 3]);
  expect(tries("calm", 2 * freshMs - 1)).toBe(0);
  // All are forgotten.
  expect([tries("calm", 2 * freshMs), tries("greedy", 2 * freshMs)]).toEqual([5, 3]);
});
