import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { someRuns } from "../../test/fuzz/some-runs.ts";
import type { EndpointAnswer } from "../endpoint/endpoint-answer.ts";
import { inPhase, skipping } from "../testing/facts.ts";
import { decide, type Facts } from "./decide.ts";
import { windowAt } from "./schedule.ts";

const version = fc.constantFrom("0.9.0", "1.0.0", "1.1.0", "1.1.0-rc.1", "1.2.0", "2.0.0", "2.1.0");
/** Mostly absent: with every obstacle at once the decision would always be to stay. */
const maybe = <T>(some: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: some });
const sentence = fc.constantFrom("it is held", "paused");
const answer: fc.Arbitrary<EndpointAnswer> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc
      .tuple(version, fc.boolean(), maybe(sentence))
      .map(([text, critical, held]) => ({ kind: "version" as const, version: text, critical, ...(held !== undefined && { held }) })),
  },
  { weight: 1, arbitrary: maybe(sentence).map((held) => ({ kind: "none" as const, ...(held !== undefined && { held }) })) },
  { weight: 1, arbitrary: fc.constant({ kind: "failed" as const, reason: "endpoint_unreachable" as const, detail: "down" }) },
  { weight: 1, arbitrary: fc.string().map((text) => ({ kind: "version" as const, version: text, critical: true })) },
);
const second = fc.oneof(fc.integer({ min: 0, max: 100 }), fc.double({ noNaN: true, min: -1e15, max: 1e15 }));
/** Versions that are often installed. */
const near = fc.constantFrom("1.0.0", "1.1.0", "1.2.0");
const stamp = fc.constantFrom("a", "b");
const phase = fc.constantFrom("installing", "watching", "rolling_back", "following");
const found: fc.Arbitrary<Facts["found"]> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.tuple(fc.array(version, { maxLength: 2 }), fc.option(stamp, { nil: undefined })).map(([versions, one]) => skipping(versions, one)),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(phase, near, near, fc.constantFrom(0, 1, 143, 144, 200)).map(([one, from, to, tries]) => inPhase(one, { from, to, tries })),
  },
  { weight: 1, arbitrary: fc.constant({ state: { skip: [] }, damaged: true }) },
);
const anyFacts: fc.Arbitrary<Facts> = fc.record({
  now: second,
  forced: fc.boolean(),
  healed: fc.boolean(),
  updater: version,
  updaterPackage: fc.option(version, { nil: undefined }),
  installed: fc.option(fc.oneof(version, near), { nil: undefined }),
  hold: maybe(sentence),
  updaterHold: maybe(sentence),
  unknownHold: maybe(fc.constant({ reason: "package_manager_busy" as const, detail: "locked" })),
  endpoint: answer,
  schedule: fc.record({ windows: fc.array(fc.record({ start: second, stop: second }), { maxLength: 3 }), unreadable: fc.nat(2) }),
  agent: fc.record({ active: fc.boolean(), draining: fc.nat(5) }),
  configuration: fc.option(stamp, { nil: undefined }),
  found,
});

const each = (check: (facts: Facts) => void): void => fc.assert(fc.property(anyFacts, check), { numRuns: someRuns(3000) });
const changes = (act: string): boolean => act === "install" || act === "follow";

test("the generated facts lead to every act often", () => {
  const seen = new Map<string, number>();
  for (const facts of fc.sample(anyFacts, { numRuns: 5000, seed: 1 })) seen.set(decide(facts).act, (seen.get(decide(facts).act) ?? 0) + 1);
  for (const act of ["stay", "heal", "forget", "install", "activate", "accept", "roll_back", "follow"])
    expect(seen.get(act) ?? 0, act).toBeGreaterThan(4);
});

describe("for any facts", () => {
  test("nothing is installed outside of the window, unless it is critical or forced by an admin", () => {
    each((facts) => {
      if (!changes(decide(facts).act)) return;
      const critical = facts.endpoint.kind === "version" && facts.endpoint.critical;
      expect(facts.forced || critical || windowAt(facts.schedule, facts.now).kind === "open").toBe(true);
    });
  });

  test("nothing new begins while an upgrade is in progress: never two installations at once", () => {
    each((facts) => {
      if (facts.found.state.upgrade !== undefined) expect(changes(decide(facts).act)).toBe(false);
    });
  });

  test("an admin's hold wins over everything", () => {
    each((facts) => {
      const { act } = decide({ ...facts, hold: "held", found: { state: { skip: facts.found.state.skip }, damaged: false } });
      expect(act).not.toBe("install");
    });
  });

  test("nothing is installed while the admin's hold is unknown", () => {
    each((facts) => {
      if (facts.unknownHold !== undefined) expect(decide(facts).act).not.toBe("install");
    });
  });

  test("a hold of the roll-out wins over everything but an admin's force", () => {
    each((facts) => {
      if (facts.forced || facts.endpoint.kind === "failed" || facts.endpoint.held === undefined) return;
      expect(changes(decide(facts).act)).toBe(false);
    });
  });

  test("a version that was rolled back here is never installed without an admin's force, or another configuration than the one that it refused", () => {
    each((facts) => {
      const decision = decide(facts);
      if (decision.act !== "install" || facts.forced) return;
      for (const { version, config } of facts.found.state.skip) {
        if (version !== decision.to) continue;
        expect([config?.stamp, facts.configuration]).not.toContain(undefined);
        expect(facts.configuration).not.toBe(config?.stamp);
      }
    });
  });

  test("no version of another major than the updater's is installed", () => {
    each((facts) => {
      const decision = decide(facts);
      if (decision.act === "install") expect(decision.to.split(".")[0]).toBe(facts.updater.split(".")[0]);
    });
  });

  test("a decision is not repeated once it is done", () => {
    each((facts) => {
      const decision = decide(facts);
      if (decision.act === "install") expect(decide({ ...facts, installed: decision.to }).act).not.toBe("install");
      if (decision.act === "follow") expect(decide({ ...facts, updaterPackage: decision.to }).act).not.toBe("follow");
    });
  });

  test("the same facts give the same decision, with a reason for users", () => {
    each((facts) => {
      const decision = decide(facts);
      expect(decision.detail).not.toBe("");
      expect(decide(facts)).toEqual(decision);
    });
  });
});
