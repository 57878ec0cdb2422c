import { describe, expect, test } from "vitest";
import { jsonOf, objectOf } from "../cluster/json-value.ts";
import { isSameImage } from "../images/image-reference.ts";
import { FakeCluster } from "../testing/fake-cluster.ts";
import type { Quality } from "../testing/fake-stateful-set.ts";
import { openWindow, settle } from "../testing/fake-world.ts";
import { digest } from "../testing/update-facts.ts";
import { memoryAnnotation, parseMemory, statusAnnotation } from "./update-memory.ts";

const first = "registry.example.com/p:1.0.0";
const next = `registry.example.com/p:1.1.0@${digest}`;
const mirror = (image: string) => image.replace("registry.example.com/", "mirror.example.com:5000/hub/");
/** As policies do that resolve tags. */
const withoutTag = (image: string) => `${image.slice(0, image.lastIndexOf(":", image.includes("@") ? image.indexOf("@") : undefined))}@${digest}`;

function cluster(quality: Quality = "good"): FakeCluster {
  const fake = new FakeCluster({ "1.1.0": quality });
  fake.secret = openWindow;
  return fake;
}

const statusOf = (fake: FakeCluster) => objectOf(jsonOf(fake.set.annotations[statusAnnotation] ?? ""));

describe.each([
  ["another registry", mirror],
  ["a digest instead of the tag", withoutTag],
])("pods whose image a webhook rewrites to %s", (_, pods) => {
  test.each(["crash", "pull", "mute"] as const)("are judged: a version that is %s is rolled back", async (quality) => {
    const fake = cluster(quality);
    fake.set.rewrite = { pods };
    expect(await settle(fake, {}, 80)).toMatchObject({ reason: "known_bad" });
    expect(fake.set.images).toEqual([first, first, first]);
    expect(fake.set.mostUnready).toBe(1);
  });

  test("take a version that is good, with a container that another webhook adds before theirs", async () => {
    const fake = cluster();
    fake.set.sidecar = "ready";
    fake.set.rewrite = { pods };
    expect(await settle(fake)).toMatchObject({ reason: "up_to_date" });
    expect(fake.set.images).toEqual([next, next, next]);
  });
});

test.each(["good", "crash"] as const)(
  "an image that a webhook rewrites in the template is the updater's own: a version that is %s",
  async (quality) => {
    const fake = cluster(quality);
    fake.set.rewrite = { template: mirror };
    expect(await settle(fake, {}, 80)).toMatchObject({ reason: quality === "good" ? "up_to_date" : "known_bad" });
    const { memory } = parseMemory(fake.set.annotations[memoryAnnotation]);
    expect(memory).toMatchObject(quality === "good" ? { last: { version: "1.1.0" }, undone: [] } : { skip: [{ version: "1.1.0" }], undone: [] });
    expect(fake.set.image).toBe(mirror(quality === "good" ? next : first));
  },
);

test("pods that wait for a container which is not the agent's make no version bad, and the result names the container", async () => {
  const fake = cluster();
  await settle(fake, {}, 1);
  fake.set.sidecar = "unready";
  expect(await settle(fake, {}, 60)).toMatchObject({ reason: "rolling_out" });
  expect(statusOf(fake)).toMatchObject({ detail: expect.stringContaining("container proxy is not ready") });
  expect(fake.set.image).toBe(next);
  fake.set.sidecar = "ready";
  expect(await settle(fake)).toMatchObject({ reason: "up_to_date" });
});

test.for<readonly [name: string, one: string, other: string, isSame: boolean]>([
  ["equal", first, first, true],
  ["of a mirror", next, mirror(next), true],
  ["of a mirror, without a digest", next, mirror("registry.example.com/p:1.1.0"), true],
  ["the digest alone", next, `registry.example.com/p@${digest}`, true],
  ["another version", next, mirror(first), false],
  ["another digest of the same tag", next, `registry.example.com/p:1.1.0@sha256:${"e".repeat(64)}`, false],
  ["neither tag nor digest", next, "registry.example.com/p", false],
  ["nonsense", next, ":", false],
])("two images are the same: %s", ([, one, other, isSame]) => {
  expect([isSameImage(one, other), isSameImage(other, one)]).toEqual([isSame, isSame]);
});
