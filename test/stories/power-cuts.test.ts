import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { machineFixture } from "../world/machine-fixture.ts";
import { packagedVersions as versions } from "../world/package-world.ts";
import { rounds } from "../world/rounds.ts";
import type { UpgradeHost } from "../world/upgrade-host.ts";
import { openUpgradeSite } from "../world/upgrade-site.ts";

const site = machineFixture(openUpgradeSite);

/** Begins an upgrade, and kills everything on the machine a random while later; its disk stays. Returns the while, ms. */
async function cutShort(host: UpgradeHost, longestMs: number): Promise<number> {
  const afterMs = Math.floor(Math.random() * longestMs);
  await host.machine.systemctl("start", "--no-block", "platform-upgrade.service");
  // Not a wait for an outcome: the moment is what is random.
  await sleep(afterMs);
  await host.machine.powerCut();
  return afterMs;
}

/** How long an upgrade of this host takes, ms. */
async function measure(host: UpgradeHost): Promise<number> {
  await host.follow("critical/next");
  const begin = performance.now();
  expect(await host.tick()).toMatchObject({ reason: "upgraded" });
  const took = performance.now() - begin;
  await host.follow("critical/now");
  expect(await host.tick()).toMatchObject({ reason: "upgraded" });
  return took;
}

// Side by side: a machine mostly waits for its probations.
test.concurrent.for([
  ["apt", rounds(10, 2)],
  ["dnf", rounds(5, 1)],
  ["zypper", rounds(5, 1)],
] as const)(
  "%s: the power fails at %i random moments of an upgrade, and the next run ends it well",
  { timeout: 900_000 },
  async ([manager, cuts]) => {
    await using host = await site().host({ manager });
    const longest = await measure(host);
    for (let cut = 0; cut < cuts; cut += 1) {
      const target = cut % 2 === 0 ? "next" : "now";
      await host.follow(`critical/${target}`);
      const afterMs = await cutShort(host, longest);
      await host.machine.start();
      const at = `cut ${cut + 1}, ${afterMs} ms after its begin`;
      // The agent comes up by itself, whatever was left.
      await host.connected();
      const state = await host.tick();
      expect({ at, state }).toMatchObject({ state: { current: versions[target], reason: expect.stringMatching(/^(upgraded|healed|up_to_date)$/) } });
      expect({ at, version: await host.version() }).toEqual({ at, version: versions[target] });
      await host.connected(versions[target]);
      expect({ at, again: await host.tick() }).toMatchObject({ again: { reason: "up_to_date", current: versions[target] } });
    }
  },
);
