import { expect, test } from "vitest";
import { FakeCluster } from "../testing/fake-cluster.ts";
import { fakeWorld, openWindow, settle } from "../testing/fake-world.ts";
import { digest } from "../testing/update-facts.ts";
import { runUpdate } from "./run-update.ts";
import { Sightings } from "./sightings.ts";

const first = "registry.example.com/p:1.0.0";
const next = `registry.example.com/p:1.1.0@${digest}`;

/** Runs and steps until the image is the given one; the seconds that it took. */
async function secondsUntil(fake: FakeCluster, image: string, options: Parameters<typeof fakeWorld>[2] = {}): Promise<number> {
  const began = fake.seconds;
  for (let round = 0; round < 200 && fake.set.image !== image; round += 1) {
    fake.set.step();
    fake.seconds += 10;
    await runUpdate(fakeWorld(fake, fake.client("me"), options));
  }
  return fake.seconds - began;
}

test.for([-3600, -400, 0, 400, 3600])(
  "a version that does not become ready is rolled back after five minutes, where the nodes' clocks are ahead by %i seconds",
  async (nodesAhead) => {
    const fake = new FakeCluster({ "1.1.0": "mute" });
    fake.secret = openWindow;
    fake.set.nodesAhead = nodesAhead;
    await settle(fake, {}, 1);
    expect(fake.set.image).toBe(next);
    const took = await secondsUntil(fake, first);
    expect(took).toBeGreaterThanOrEqual(300);
    expect(took).toBeLessThanOrEqual(400);
  },
);

test.for([-3600, 3600])("a healthy roll-out is not disturbed where the controller's clock is ahead by %i seconds", async (ahead) => {
  const fake = new FakeCluster({});
  fake.secret = { ...openWindow };
  fake.seconds = 10_000;
  expect(await settle(fake, { ahead })).toMatchObject({ reason: "up_to_date" });
  expect(fake.set.images).toEqual([next, next, next]);
});

test.for([-1200, 1200])(
  "a version that is as broken as the one before gets its quarter of an hour from a controller that takes over with a clock that is ahead by %i seconds",
  async (ahead) => {
    const fake = new FakeCluster({ "1.0.0": "crash", "1.1.0": "crash" });
    fake.secret = openWindow;
    fake.seconds = 10_000;
    fake.set.step();
    await settle(fake, {}, 5);
    fake.sightings = new Sightings(() => fake.seconds * 1000);
    const began = fake.seconds;
    let reason = "";
    for (let round = 0; round < 200 && reason !== "upgraded"; round += 1) {
      ({ reason } = await runUpdate(fakeWorld(fake, fake.client("other"), { ahead })));
      fake.set.step();
      fake.seconds += 10;
    }
    expect(fake.seconds - began).toBeGreaterThanOrEqual(900);
    expect(fake.seconds - began).toBeLessThanOrEqual(1000);
  },
);

test("a state is as old as its first sighting, and is new again once it was gone", () => {
  let now = 0;
  const sightings = new Sightings(() => now);
  const age = (...names: string[]) => [...sightings.ages(names).values()];
  expect(age("a")).toEqual([0]);
  now = 5000;
  expect(age("a", "b")).toEqual([5, 0]);
  expect(age("b")).toEqual([0]);
  now = 7000;
  expect(age("a", "b")).toEqual([0, 2]);
});
