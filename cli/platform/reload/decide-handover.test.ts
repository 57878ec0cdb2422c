import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decideHandover, type Handover, type HandoverFacts, probationMs, readyMs, silenceMs } from "./decide-handover.ts";

const start = 1_000_000;
const base = { startedAt: start, connectedSince: 0 } as const;
const after = (ms: number): { now: number; heardAt: number } => ({ now: start + ms, heardAt: start + ms });

describe("decideHandover", () => {
  test.for<[string, HandoverFacts, Handover["act"]]>([
    ["just started, not heard of", { ...base, now: start }, "wait"],
    ["not heard of for a while", { ...base, now: start + silenceMs - 1 }, "wait"],
    ["never heard of", { ...base, now: start + silenceMs }, "give up"],
    ["never heard of, the old one is not connected", { startedAt: start, now: start + silenceMs }, "give up"],
    ["it said what is wrong", { ...base, ...after(100), fault: "the configuration is wrong" }, "give up"],
    ["it exited while it was ready", { ...base, ...after(5_000), readySince: start + 500, fault: "it ended" }, "give up"],
    ["it exited at the end of its probation", { ...base, ...after(60_000), readySince: start, fault: "it ended" }, "give up"],
    ["ready, in probation", { ...base, ...after(5_000), readySince: start + 1_000 }, "wait"],
    ["ready at the last moment of its probation", { ...base, ...after(1_000 + probationMs - 1), readySince: start + 1_000 }, "wait"],
    ["ready for the whole probation", { ...base, ...after(1_000 + probationMs), readySince: start + 1_000 }, "hand over"],
    [
      "ready late, in probation beyond the limit to become ready",
      { ...base, ...after(readyMs + 5_000), readySince: start + readyMs - 1_000 },
      "wait",
    ],
    ["ready late, and it stayed", { ...base, ...after(readyMs + 9_000), readySince: start + readyMs - 1_000 }, "hand over"],
    ["ready, but it hangs", { ...base, now: start + 30_000, heardAt: start + 10_000, readySince: start + 500 }, "give up"],
    ["heard of, then silent", { ...base, now: start + 25_000, heardAt: start + 5_000 }, "give up"],
    ["heard of, then silent for less", { ...base, now: start + 24_999, heardAt: start + 5_000 }, "wait"],
    ["not ready yet", { ...base, ...after(20_000) }, "wait"],
    ["not ready at the limit", { ...base, ...after(readyMs) }, "give up"],
    ["ready before, and no more at the limit", { ...base, ...after(readyMs) }, "give up"],
    ["the old one is back since a moment", { ...after(90_000), startedAt: start, connectedSince: start + 80_000 }, "wait"],
    [
      "the old one is back, and the new one does not follow",
      { ...after(80_000 + readyMs), startedAt: start, connectedSince: start + 80_000 },
      "give up",
    ],
    ["neither is connected", { ...after(readyMs - 1), startedAt: start }, "wait"],
    ["neither is connected, and it runs", { ...after(readyMs), startedAt: start }, "hand over"],
    ["the old one is not connected, the new one is", { ...after(probationMs + 1), startedAt: start, readySince: start + 1 }, "hand over"],
  ])("%s", ([, facts, act]) => {
    expect(decideHandover(facts).act).toBe(act);
  });

  test("names the last error of a successor that does not connect, and that it is one of its connection", () => {
    const problem = { error: "could not resolve proxy.test", code: "unavailable" } as const;
    const why = "it was not ready within 30 s: could not resolve proxy.test";
    expect(decideHandover({ ...base, ...after(readyMs), problem })).toEqual({ act: "give up", why, problem });
    expect(decideHandover({ ...base, ...after(readyMs) })).toEqual({ act: "give up", why: "it was not ready within 30 s" });
    expect(decideHandover({ ...base, ...after(readyMs), problem, fault: "it ended" })).toEqual({ act: "give up", why: "it ended" });
    expect(decideHandover({ startedAt: start, ...after(readyMs), problem }).act).toBe("hand over");
  });

  const time = fc.integer({ min: 0, max: 200_000 });
  const maybe = fc.option(time, { nil: undefined });

  test("never hands over to a process with a fault, a silent one, or one that has just become ready", () => {
    fc.assert(
      fc.property(time, time, maybe, maybe, maybe, fc.boolean(), (startedAt, passed, heard, ready, connectedSince, faulty) => {
        const now = startedAt + passed;
        const heardAt = heard === undefined ? undefined : Math.min(now, startedAt + heard);
        const readySince = ready === undefined ? undefined : Math.min(now, startedAt + ready);
        const facts = { now, startedAt, heardAt, readySince, connectedSince, fault: faulty ? "it ended" : undefined };
        if (decideHandover(facts).act !== "hand over") return;
        expect(faulty).toBe(false);
        expect(now - (heardAt ?? startedAt)).toBeLessThan(silenceMs);
        if (readySince !== undefined) expect(now - readySince).toBeGreaterThanOrEqual(probationMs);
        else expect(connectedSince).toBeUndefined();
      }),
    );
  });

  test("always comes to an end while nothing changes", () => {
    fc.assert(
      fc.property(maybe, maybe, (ready, connectedSince) => {
        const now = 10_000_000;
        const facts = { startedAt: 0, now, heardAt: now, readySince: ready, connectedSince };
        expect(decideHandover(facts).act).not.toBe("wait");
      }),
    );
  });
});
