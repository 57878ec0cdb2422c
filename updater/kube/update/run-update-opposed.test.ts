import { expect, test } from "vitest";
import { jsonOf, objectOf } from "../cluster/json-value.ts";
import { FakeCluster } from "../testing/fake-cluster.ts";
import type { Quality } from "../testing/fake-stateful-set.ts";
import { fakeWorld, openWindow, settle } from "../testing/fake-world.ts";
import { digest, signed, wants } from "../testing/update-facts.ts";
import { runUpdate } from "./run-update.ts";
import { memoryAnnotation, parseMemory, statusAnnotation, triggerAnnotation } from "./update-memory.ts";

const first = "registry.example.com/p:1.0.0";
const next = `registry.example.com/p:1.1.0@${digest}`;

function cluster(quality: Quality = "good", replicas = 3): FakeCluster {
  const fake = new FakeCluster({ "1.1.0": quality }, replicas);
  fake.secret = openWindow;
  return fake;
}

const statusOf = (fake: FakeCluster) => objectOf(jsonOf(fake.set.annotations[statusAnnotation] ?? ""));
const reasons = (fake: FakeCluster) => fake.events.map(({ reason }) => reason);

/** Runs; each time that the image has been set, and so many rounds later, the other tool acts. Returns the images that the updater set. */
async function fought(fake: FakeCluster, setBack: () => void, { every = 60, rounds = 120, options = {} }: FoughtOptions = {}): Promise<string[]> {
  const images: string[] = [];
  const tools = fake.set.image;
  for (let round = 0, waited = 0; round < rounds; round += 1) {
    await runUpdate(fakeWorld(fake, fake.client("me"), options));
    fake.set.step();
    fake.seconds += 20;
    waited = fake.set.image === tools ? 0 : waited + 1;
    if (waited * 20 < every) continue;
    images.push(fake.set.image);
    setBack();
    waited = 0;
  }
  return images;
}

interface FoughtOptions {
  readonly every?: number;
  readonly rounds?: number;
  readonly options?: Parameters<typeof fakeWorld>[2];
}

test.for([180, 600, 3600])(
  "a tool that sets the image back every %i seconds, after the roll-out was done, is fought once, not for ever",
  async (every) => {
    const fake = cluster();
    expect(await fought(fake, () => fake.set.setImage(first), { every, rounds: (every * 5) / 20 })).toEqual([next, next]);
    expect(statusOf(fake)).toMatchObject({ reason: "set_back", current: "1.0.0", target: "1.1.0" });
    fake.set.annotate(triggerAnnotation, "again");
    expect(await settle(fake)).toMatchObject({ reason: "up_to_date" });
  },
);

test.for([false, true])("a tool that replaces the whole object (deletes it first: %s) is noticed as well", async (isDeleted) => {
  const fake = cluster();
  const replace = () => fake.set.replace(first, { isDeleted });
  expect(await fought(fake, replace, { every: 600, rounds: 240 })).toEqual([next, next]);
  expect(statusOf(fake)).toMatchObject({ reason: "set_back", current: "1.0.0", target: "1.1.0" });
  // Its next object has the image that it wants: nothing is set over it.
  replace();
  expect(await settle(fake)).toMatchObject({ reason: "set_back" });
  fake.set.annotate(triggerAnnotation, "again");
  expect(await settle(fake)).toMatchObject({ reason: "up_to_date" });
});

test("a version that was rolled back stays skipped when the whole object is replaced, until a person takes the memory away", async () => {
  const fake = cluster("crash");
  expect(await settle(fake, {}, 80)).toMatchObject({ reason: "known_bad" });
  fake.set.replace(first, { isDeleted: true });
  expect(await settle(fake, {}, 80)).toMatchObject({ reason: "known_bad" });
  const attempts = reasons(fake).filter((reason) => reason === "RolledBack").length;
  delete fake.set.annotations[memoryAnnotation];
  expect(await settle(fake, {}, 80)).toMatchObject({ reason: "known_bad" });
  expect(reasons(fake).filter((reason) => reason === "RolledBack")).toHaveLength(attempts + 1);
});

test("a tool that sets the newer image over a version that the auth service has lowered is noticed", async () => {
  const fake = cluster();
  const tools = "registry.example.com/p:1.1.0";
  fake.set.setImage(tools);
  fake.set.step();
  const options = { wanted: wants("1.0.0", { proof: signed() }) };
  await settle(fake, { wanted: wants("1.1.0") });
  const lowered = `registry.example.com/p:1.0.0@${digest}`;
  expect(await fought(fake, () => fake.set.setImage(tools), { every: 600, rounds: 240, options })).toEqual([lowered, lowered]);
  expect(statusOf(fake)).toMatchObject({ reason: "set_back", current: "1.1.0", target: "1.0.0" });
});

test("a version that is kept although it is as broken as the one before is not set over a tool's image for ever", async () => {
  const fake = new FakeCluster({ "1.0.0": "crash", "1.1.0": "crash" });
  fake.secret = openWindow;
  fake.set.step();
  expect(await fought(fake, () => fake.set.setImage(first), { every: 1500, rounds: 400 })).toEqual([next, next]);
  expect(statusOf(fake)).toMatchObject({ reason: "set_back" });
});

test("in suggest mode the image is named also to a tool that has set it back", async () => {
  const fake = cluster();
  await fought(fake, () => fake.set.setImage(first), { every: 180 });
  expect(await settle(fake, { mode: "suggest" }, 5)).toMatchObject({ reason: "suggested" });
});

test.for([
  [403, 'admission webhook "images.example.com" denied the request: only images of mirror.example.com are allowed'],
  [422, "statefulsets.apps \"agent\" is forbidden: ValidatingAdmissionPolicy 'images' with binding 'all' denied request: no"],
  [409, 'admission webhook "w" denied the request: frozen'],
  [400, 'admission webhook "w" denied the request: malformed'],
] as const)("an image that is refused with %i is reported in the server's words, and not set again at once", async ([code, message]) => {
  const fake = cluster();
  fake.admit = ({ image }) => (image ? { code, message } : undefined);
  const before = JSON.stringify([fake.set.image, fake.set.images]);
  for (let round = 0; round < 20; round += 1) await settle(fake, {}, 2);
  expect(fake.refused).toBe(1);
  expect(JSON.stringify([fake.set.image, fake.set.images])).toBe(before);
  expect(statusOf(fake)).toMatchObject({ reason: "change_refused", current: "1.0.0", target: "1.1.0", detail: expect.stringContaining(message) });
  expect(parseMemory(fake.set.annotations[memoryAnnotation]).memory.update).toBeUndefined();
  expect(reasons(fake)).toEqual(["ChangeRefused"]);
  fake.seconds += 3600;
  await settle(fake, {}, 4);
  expect(fake.refused).toBe(2);
  fake.set.annotate(triggerAnnotation, "again");
  await settle(fake, {}, 2);
  expect(fake.refused).toBe(3);
  fake.admit = () => undefined;
  fake.set.annotate(triggerAnnotation, "and again");
  expect(await settle(fake)).toMatchObject({ reason: "up_to_date" });
  expect(parseMemory(fake.set.annotations[memoryAnnotation]).memory).not.toHaveProperty("refused");
});

test("a roll-back that is refused is reported, and not tried again at once", async () => {
  const fake = cluster("crash");
  await settle(fake, {}, 2);
  fake.admit = ({ image }) => (image ? { code: 403, message: "admission webhook denied the request: too old" } : undefined);
  for (let round = 0; round < 20; round += 1) await settle(fake, {}, 2);
  expect(fake.refused).toBe(1);
  expect(statusOf(fake)).toMatchObject({ reason: "change_refused", detail: expect.stringContaining("too old") });
  fake.admit = () => undefined;
  fake.set.annotate(triggerAnnotation, "again");
  expect(await settle(fake, {}, 80)).toMatchObject({ reason: "known_bad" });
});

test("a server that refuses every change is reported, and each run asks it once for the image", async () => {
  const fake = cluster();
  fake.admit = () => ({ code: 403, message: "admission webhook denied the request: frozen" });
  expect(await runUpdate(fakeWorld(fake, fake.client("me")))).toMatchObject({ reason: "change_refused", detail: expect.stringContaining("frozen") });
  expect(fake.refused).toBeLessThanOrEqual(3);
  expect(fake.writes).toEqual([]);
});
