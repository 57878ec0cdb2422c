import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { AgentStatus, UnitState } from "./agent-status.ts";
import type { WatchResult } from "./service.ts";
import { type Expected, type Look, type Watch, watchAgent } from "./watch-agent.ts";

const running: UnitState = { activeState: "active", subState: "running", unitFileState: "enabled", mainPid: 20, restarts: 0 };
const waiting: UnitState = { activeState: "activating", subState: "auto-restart", unitFileState: "enabled", mainPid: 0, restarts: 0 };
const fresh: AgentStatus = { pid: 20, version: "1.1.0", ready: true, services: ["ssh"], sessions: 0, draining: [], reload: { state: "none" } };
const old: AgentStatus = { ...fresh, version: "1.0.0", reload: { state: "starting" } };
const expected: Expected = { version: "1.1.0", wasReady: true, reloadedAt: 1_000_000 };

interface Story {
  readonly name: string;
  /** The state this many seconds after the first check. */
  readonly at: (seconds: number) => Omit<Look, "at">;
  readonly expected?: Partial<Expected>;
  readonly result:
    | { readonly healthy: true }
    | { readonly healthy: false; readonly fault: string; readonly refusesConfiguration: boolean; readonly why?: string };
  readonly within: number;
}

/** Checks twice a second, as the service does, until there is a verdict. */
function play({ at, expected: more }: Pick<Story, "at" | "expected">): { result: WatchResult; seconds: number } {
  let watch: Watch | undefined;
  for (let seconds = 0; seconds <= 200; seconds += 0.5) {
    const seen = watchAgent(watch, { at: 5000 + seconds * 1000, ...at(seconds) }, { ...expected, ...more });
    watch = seen.watch;
    if (seen.result !== undefined) return { result: seen.result, seconds };
  }
  throw new Error("never decided");
}

const healthy = { healthy: true } as const;
const bad = (fault: string, refusesConfiguration = false) => ({ healthy: false, fault, refusesConfiguration }) as const;
const failed = (at: number): AgentStatus => ({ ...old, reload: { state: "failed", version: "1.1.0", error: "exit status 1", at } });

const stories: readonly Story[] = [
  { name: "well from the start", at: () => ({ unit: running, status: fresh }), result: healthy, within: 10 },
  { name: "handed over after 20 s", at: (s) => ({ unit: running, status: s < 20 ? old : fresh }), result: healthy, within: 30 },
  { name: "ready after 50 s", at: (s) => ({ unit: running, status: { ...fresh, ready: s >= 50 } }), result: healthy, within: 60 },
  {
    name: "no tunnel, and the agent knows why",
    at: () => ({ unit: running, status: { ...fresh, ready: false, problem: "could not resolve proxy.test" } }),
    result: { ...bad("tunnel"), why: "the process runs, but has no tunnel to the cluster: could not resolve proxy.test" },
    within: 60,
  },
  { name: "no tunnel", at: () => ({ unit: running, status: { ...fresh, ready: false } }), result: bad("tunnel"), within: 60 },
  {
    name: "no tunnel, as before",
    at: () => ({ unit: running, status: { ...fresh, ready: false } }),
    expected: { wasReady: false },
    result: healthy,
    within: 10,
  },
  {
    name: "control that does not serve",
    at: () => ({ unit: running, status: { ...fresh, ready: false, services: ["auth", "proxy"] } }),
    result: bad("process"),
    within: 60,
  },
  { name: "the successor failed", at: (s) => ({ unit: running, status: s < 1 ? old : failed(1_000_500) }), result: bad("refused"), within: 1 },
  ...(["invalid", "not_found", "denied", "internal", "unavailable"] as const).map((code, index): Story => {
    const status = { ...old, reload: { ...failed(1_000_500).reload, code } };
    return {
      name: `the successor reported ${code}`,
      at: () => ({ unit: running, status }),
      result: bad("refused", index < 3),
      within: 1,
    };
  }),
  {
    name: "the successor could not connect, where the one before was connected",
    at: () => ({ unit: running, status: { ...old, reload: { ...failed(1_000_500).reload, code: "unavailable", disconnected: true } } }),
    result: bad("refused", true),
    within: 1,
  },
  {
    name: "the successor failed, and called itself something else than its package",
    at: (s) => ({ unit: running, status: s < 30 ? old : { ...old, reload: { state: "failed", version: "1.0.9", at: 1_030_000 } } }),
    result: bad("refused"),
    within: 30,
  },
  {
    name: "an earlier reload had failed",
    at: (s) => ({ unit: running, status: s < 1 ? failed(900_000) : s < 5 ? old : fresh }),
    result: healthy,
    within: 15,
  },
  {
    name: "the reload of another version had failed",
    at: (s) => ({ unit: running, status: s < 1 ? { ...failed(1_000_000), reload: { state: "failed", version: "1.0.5" } } : fresh }),
    result: healthy,
    within: 11,
  },
  {
    name: "rolled back, and the process that refused the bad version is the wanted one",
    at: () => ({ unit: running, status: { ...failed(1_000_500), version: "1.1.0" } }),
    result: healthy,
    within: 10,
  },
  { name: "the old process runs on", at: () => ({ unit: running, status: old }), result: bad("refused"), within: 60 },
  {
    name: "crashes at start, again and again",
    at: (s) => ({ unit: { ...waiting, restarts: Math.floor(s / 5.5) } }),
    result: bad("process"),
    within: 6,
  },
  {
    name: "exits once and comes back: an agent that cannot reload",
    at: (s) => (s < 5 ? { unit: waiting } : { unit: { ...running, mainPid: 30, restarts: 1 }, status: { ...fresh, pid: 30 } }),
    result: healthy,
    within: 15,
  },
  {
    name: "exits once and comes back, while systemd counts the restart before it begins",
    at: (s) => {
      if (s < 5) return { unit: { ...waiting, lastPid: 20 } };
      if (s < 6) return { unit: { ...waiting, lastPid: 20, restarts: 1 } };
      if (s < 6.5) return { unit: { ...waiting, activeState: "inactive", subState: "dead", lastPid: 20, restarts: 1 } };
      return { unit: { ...running, mainPid: 30, lastPid: 30, restarts: 1 }, status: { ...fresh, pid: 30 } };
    },
    result: healthy,
    within: 17,
  },
  {
    name: "exits twice",
    at: (s) => ({ unit: s < 5 ? { ...waiting, lastPid: 20 } : { ...waiting, lastPid: 30, restarts: 1, exitStatus: 2 } }),
    result: bad("process", true),
    within: 5,
  },
  {
    name: "is stopped",
    at: () => ({ unit: { ...waiting, activeState: "inactive", subState: "dead" } }),
    result: bad("process"),
    within: 2,
  },
  { name: "exits and does not come back", at: () => ({ unit: waiting }), result: bad("process"), within: 8 },
  ...([2, 4, 5, 1, 9, undefined] as const).map((exitStatus, index): Story => {
    const ended = { ...waiting, ...(exitStatus !== undefined && { exitStatus }) };
    return {
      name: `systemd starts it, and it ends with status ${exitStatus}`,
      at: (s) => ({ unit: { ...ended, restarts: Math.floor(s / 5.5) } }),
      result: bad("process", index < 3),
      within: 6,
    };
  }),
  {
    name: "systemd starts it, it ends with status 2, and runs for a moment when it is looked at",
    at: (s) => ({ unit: s < 5 ? { ...waiting, exitStatus: 2 } : { ...running, mainPid: 30, restarts: 2 } }),
    result: bad("process", true),
    within: 5,
  },
  {
    name: "the version before ended with status 2, and the one that follows it crashes",
    at: (s) => ({ unit: { ...waiting, exitStatus: s < 5 ? 2 : 1, restarts: Math.floor(s / 5.5) } }),
    result: bad("process"),
    within: 6,
  },
  {
    name: "systemd has given up, after status 2",
    at: () => ({ unit: { ...waiting, activeState: "failed", subState: "failed", exitStatus: 2 } }),
    result: bad("process", true),
    within: 0,
  },
  { name: "failed", at: () => ({ unit: { ...waiting, activeState: "failed", subState: "failed" } }), result: bad("process"), within: 0 },
  { name: "hangs", at: () => ({ unit: running, current: true }), result: bad("process"), within: 30 },
  { name: "answers, then hangs", at: (s) => ({ unit: running, ...(s < 8 && { status: fresh }) }), result: bad("process"), within: 38 },
  {
    name: "knows no status socket",
    at: () => ({ unit: running, current: true }),
    expected: { wasReady: false },
    result: healthy,
    within: 10,
  },
  {
    name: "knows no status socket, and is the old executable",
    at: () => ({ unit: running, current: false }),
    expected: { wasReady: false },
    result: bad("refused"),
    within: 60,
  },
  {
    name: "changes its process every 7 s",
    at: (s) => ({ unit: { ...running, mainPid: 20 + Math.floor(s / 7) }, status: fresh }),
    result: bad("process"),
    within: 70,
  },
];

describe("the watch over the agent", () => {
  test.for(stories)("$name", (story) => {
    const { result, seconds } = play(story);
    expect(result).toMatchObject(story.result);
    expect(seconds).toBeLessThanOrEqual(story.within);
  });

  test("ends within 70 s for any observations, and never calls a wrong version healthy", () => {
    const status = fc.record({ version: fc.constantFrom("1.0.0", "1.1.0"), ready: fc.boolean() }).map((some) => ({ ...fresh, ...some }));
    const unit = fc.record({
      activeState: fc.constantFrom("active", "activating", "deactivating", "reloading"),
      subState: fc.constantFrom("running", "auto-restart", "stop"),
      mainPid: fc.constantFrom(0, 20, 21),
      restarts: fc.nat(1),
      unitFileState: fc.constant("enabled"),
    });
    const look = fc.record({ unit, status, current: fc.boolean() }, { requiredKeys: ["unit"] });
    fc.assert(
      fc.property(fc.array(look, { minLength: 1, maxLength: 30 }), (looks) => {
        const seen = (seconds: number): Omit<Look, "at"> => looks[Math.floor(seconds * 2) % looks.length] ?? { unit: running };
        const { result, seconds } = play({ at: seen });
        expect(seconds).toBeLessThanOrEqual(70);
        if (result.healthy) expect(looks.some((one) => one.status?.version === "1.1.0")).toBe(true);
      }),
    );
  });
});
