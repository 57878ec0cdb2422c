import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { wants } from "../testing/facts.ts";
import type { Quality } from "../testing/memory-agent.ts";
import { MemoryHost } from "../testing/memory-host.ts";
import type { Half } from "../testing/memory-packages.ts";
import { tick } from "../testing/tick.ts";

const halves: Half[] = (["from", "to", "none", "unreadable"] as const).flatMap((looksLike) =>
  (["from", "to"] as const).map((healsTo) => ({ looksLike, healsTo })),
);
const qualities: Quality[] = ["good", "crashes", "dies", "mute", "refused"];
const cases = qualities.flatMap((quality) => halves.map((half) => [quality, half] as const));

/** Runs until one is not killed, then some more; `kills`: the effect at which each of the first runs is killed. */
async function survive(host: MemoryHost, kills: readonly number[], between: (host: MemoryHost) => void): Promise<boolean> {
  let killed = false;
  for (const killAfter of kills) {
    killed = (await tick(host, { killAfter })) === undefined;
    between(host);
  }
  for (let run = 0; run < 4; run += 1) await tick(host);
  return killed;
}

function expectSound(host: MemoryHost, quality: Quality): void {
  const { installed, running, found } = host;
  expect(host.packages.halfDone).toBe(false);
  expect(found.upgrade).toBeUndefined();
  // A version that could not take over from a running process may well run after a boot.
  const may = quality === "good" || (quality === "refused" && host.booted);
  expect(["1.0.0", ...(may ? ["1.1.0"] : [])]).toContain(installed);
  expect(running).toBe(installed);
  expect(["up_to_date", "known_bad", "outside_window", "healed", "upgraded"]).toContain(found.reason);
}

describe("a run that is killed", () => {
  test.for(cases)("at any effect of an upgrade to a version that is %s (%o) is completed by the next", async ([quality, half]) => {
    let kills = 0;
    for (let killAfter = 1; killAfter < 200; killAfter += 1) {
      const host = new MemoryHost({ answer: wants("1.1.0"), qualities: { "1.1.0": quality }, half });
      if (!(await survive(host, [killAfter], () => {}))) break;
      kills += 1;
      expectSound(host, quality);
      expect(host.installed).toBe(quality === "good" ? "1.1.0" : "1.0.0");
      expect(host.packages.installs.every(({ inWindow }) => inWindow)).toBe(true);
    }
    expect(kills).toBeGreaterThan(10);
  });

  test.for(cases)("with a power cut, outside of the window: %s (%o)", async ([quality, half]) => {
    for (let killAfter = 1; killAfter < 60; killAfter += 1) {
      const host = new MemoryHost({ answer: wants("1.1.0"), qualities: { "1.1.0": quality }, half });
      const killed = await survive(host, [killAfter], () => {
        host.reboot();
        host.seconds = 5000;
      });
      if (!killed) break;
      expectSound(host, quality);
      // Outside of the window only a roll-back is installed.
      expect(host.packages.installs.filter(({ inWindow, version }) => !inWindow && version !== "1.0.0")).toEqual([]);
    }
  });

  test("repeatedly, at any point, is completed by the following runs", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...cases),
        fc.array(fc.tuple(fc.integer({ min: 1, max: 30 }), fc.boolean()), { minLength: 1, maxLength: 6 }),
        async ([quality, half], deaths) => {
          const host = new MemoryHost({ answer: wants("1.1.0"), qualities: { "1.1.0": quality }, half });
          for (const [killAfter, cut] of deaths) {
            await tick(host, { killAfter });
            if (cut) host.reboot();
          }
          for (let run = 0; run < 5; run += 1) await tick(host);
          expectSound(host, quality);
        },
      ),
    );
  });
});
