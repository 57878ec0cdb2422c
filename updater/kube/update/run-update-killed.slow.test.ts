import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { silentLog } from "../../../core/log/log.ts";
import { someRuns } from "../../../test/fuzz/some-runs.ts";
import { Leader } from "../cluster/leader.ts";
import { LeaseObject } from "../cluster/lease.ts";
import { FakeCluster } from "../testing/fake-cluster.ts";
import type { Quality } from "../testing/fake-stateful-set.ts";
import { fakeWorld, openWindow, settle } from "../testing/fake-world.ts";
import { digest } from "../testing/update-facts.ts";
import { runUpdate } from "./run-update.ts";
import { parseMemory } from "./update-memory.ts";

const first = "registry.example.com/p:1.0.0";
const next = `registry.example.com/p:1.1.0@${digest}`;
const qualities: readonly Quality[] = ["good", "crash", "pull", "mute"];

function cluster(quality: Quality): FakeCluster {
  const fake = new FakeCluster({ "1.1.0": quality });
  fake.secret = openWindow;
  return fake;
}

/** After each write the image is the one that the memory accounts for: the two are never apart. */
function expectWhole(fake: FakeCluster): void {
  for (const { image, memory } of fake.writes) {
    const { update, last } = parseMemory(memory).memory;
    const expected = update === undefined ? (last?.image ?? first) : update.phase === "rolling" ? update.to.image : update.from.image;
    expect(image).toBe(expected);
  }
}

/** Number of times that the image was set. */
function imageChanges(fake: FakeCluster): number {
  return fake.writes.filter(({ image }, at) => image !== (fake.writes[at - 1]?.image ?? first)).length;
}

function expectEnd(fake: FakeCluster, quality: Quality): void {
  expectWhole(fake);
  const wanted = quality === "good" ? next : first;
  expect(fake.set.images).toEqual([wanted, wanted, wanted]);
  expect(imageChanges(fake)).toBe(quality === "good" ? 1 : 2);
  expect(fake.set.mostUnready).toBe(1);
}

describe("a controller that is killed", () => {
  test.for(qualities.flatMap((quality) => [false, true].map((isAfter) => [quality, isAfter] as const)))(
    "at any write of an update to a version that is %s (after it took effect: %s) is completed by the next one",
    async ([quality, isAfter]) => {
      let kills = 0;
      for (let dieAt = 1; dieAt < 40; dieAt += 1) {
        const fake = cluster(quality);
        const client = fake.client("first", { dieAt, isAfter });
        for (let round = 0; round < 60 && !client.isDead(); round += 1) {
          await runUpdate(fakeWorld(fake, client));
          fake.set.step();
          fake.seconds += 20;
        }
        if (!client.isDead()) break;
        kills += 1;
        await settle(fake, {}, 80);
        expectEnd(fake, quality);
      }
      expect(kills).toBeGreaterThan(quality === "good" ? 4 : 6);
    },
  );

  test.for([false, true])(
    "at any write while the registry is away (after it took effect: %s) leaves a single replica with the image that ran, and then with the wanted one",
    async (isAfter) => {
      const away = { verdict: { kind: "unknown", detail: "connection refused" } } as const;
      let kills = 0;
      for (let dieAt = 1; dieAt < 40; dieAt += 1) {
        const behaviour: Record<string, Quality> = { "1.1.0": "pull" };
        const fake = new FakeCluster(behaviour, 1);
        fake.secret = openWindow;
        const client = fake.client("first", { dieAt, isAfter });
        await runUpdate(fakeWorld(fake, client));
        for (let round = 0; round < 60 && !client.isDead(); round += 1) {
          await runUpdate(fakeWorld(fake, client, away));
          fake.set.step();
          fake.seconds += 20;
        }
        if (!client.isDead()) break;
        kills += 1;
        await settle(fake, away, 80);
        expectWhole(fake);
        expect(fake.set.images).toEqual([first]);
        behaviour["1.1.0"] = "good";
        await settle(fake);
        expectWhole(fake);
        expect(fake.set.images).toEqual([next]);
        expect(imageChanges(fake) % 2).toBe(1);
      }
      expect(kills).toBeGreaterThan(5);
    },
  );

  test("again and again, at any write, is completed in the end", async () => {
    const deaths = fc.array(fc.tuple(fc.integer({ min: 1, max: 4 }), fc.boolean(), fc.integer({ min: 0, max: 3 })), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...qualities), deaths, async (quality, kills) => {
        const fake = cluster(quality);
        for (const [dieAt, isAfter, steps] of kills) {
          await runUpdate(fakeWorld(fake, fake.client("mortal", { dieAt, isAfter })));
          for (let step = 0; step < steps; step += 1) fake.set.step();
          fake.seconds += 20;
        }
        await settle(fake, {}, 80);
        expectEnd(fake, quality);
      }),
      { numRuns: someRuns(60) },
    );
  });
});

/** A controller with its part in the election, by the cluster's clock. */
function controller(fake: FakeCluster, me: string) {
  const requests = fake.client(me);
  const clock = { wall: () => new Date(fake.seconds * 1000), steady: () => fake.seconds * 1000 };
  let heard = true;
  const leader = new Leader({
    lease: new LeaseObject(requests, { namespace: "ns", name: "agent" }),
    me,
    log: silentLog,
    clock,
    heard: (answered) => {
      heard = answered;
    },
  });
  const { signal } = new AbortController();
  return {
    leader,
    hears: () => heard,
    elect: async () => await leader.step(signal),
    act: async () => {
      if (leader.holds) await runUpdate(fakeWorld(fake, requests, { demandLease: () => leader.demand() }));
    },
  };
}

describe("two controllers", () => {
  test("one leads; when it is gone the other takes over after the lease has run out, and only one patch sets the image", async () => {
    const fake = cluster("good");
    const [one, other] = [controller(fake, "one"), controller(fake, "other")];
    for (let round = 0; round < 3; round += 1) {
      await Promise.all([one.elect(), other.elect()]);
      expect([one.leader.holds, other.leader.holds].filter(Boolean)).toHaveLength(1);
      fake.seconds += 2;
    }
    const [leads, waits] = one.leader.holds ? [one, other] : [other, one];
    await leads.act();
    // It is paused: its lease runs out by its own clock before the other may take it by the other's.
    let taken = 0;
    for (; !waits.leader.holds && taken < 40; taken += 2) {
      await waits.elect();
      if (waits.leader.holds) break;
      fake.seconds += 2;
    }
    expect(taken).toBeGreaterThanOrEqual(14);
    expect(taken).toBeLessThanOrEqual(18);
    expect(leads.leader.holds).toBe(false);
    // The paused one wakes up in the middle of a run.
    await Promise.all([leads.act(), waits.act()]);
    await expect(runUpdate(fakeWorld(fake, fake.client("paused"), { demandLease: () => leads.leader.demand() }))).resolves.toBeDefined();
    expect(fake.writes.every(({ by }) => by !== "paused")).toBe(true);
    await settle(fake);
    expectEnd(fake, "good");
  });

  test("that both believe that they lead set the image once", async () => {
    for (const quality of qualities) {
      const fake = cluster(quality);
      for (let round = 0; round < 90; round += 1) {
        await Promise.all(["one", "other"].map(async (by) => await runUpdate(fakeWorld(fake, fake.client(by)))));
        fake.set.step();
        fake.seconds += 20;
      }
      expectEnd(fake, quality);
    }
  });

  test("what one has kept in the lease is known to the next, also after it was killed", async () => {
    const fake = cluster("good");
    const [one, other] = [controller(fake, "one"), controller(fake, "other")];
    await one.elect();
    one.leader.note.text = "kept";
    await one.elect();
    await other.elect();
    fake.seconds += 15;
    await other.elect();
    expect([fake.holder, other.leader.note.text]).toEqual(["other", "kept"]);
  });

  test("a released lease is taken at once", async () => {
    const fake = cluster("good");
    const [one, other] = [controller(fake, "one"), controller(fake, "other")];
    await one.elect();
    const stop = new AbortController();
    stop.abort();
    await one.leader.run(stop.signal);
    expect([fake.holder, one.leader.holds]).toEqual(["", false]);
    await other.elect();
    expect(other.leader.holds).toBe(true);
  });
});

test("an API server that is away for an hour: nobody leads, nothing is written, and afterwards the update goes on", async () => {
  const fake = cluster("good");
  const one = controller(fake, "one");
  await one.elect();
  await one.act();
  const before = fake.writes.length;
  fake.isAway = true;
  for (let round = 0; round < 1800; round += 1) {
    await one.elect();
    fake.seconds += 2;
    if (round >= 5) expect(one.leader.holds).toBe(false);
    await one.act();
  }
  expect([fake.writes.length, one.hears()]).toEqual([before, false]);
  fake.isAway = false;
  for (let round = 0; round < 40; round += 1) {
    await one.elect();
    await one.act();
    fake.set.step();
    fake.seconds += 2;
  }
  expectEnd(fake, "good");
});
