import { expect, test } from "vitest";
import { jsonOf, objectOf } from "../cluster/json-value.ts";
import { FakeCluster } from "../testing/fake-cluster.ts";
import type { Quality } from "../testing/fake-stateful-set.ts";
import { fakeWorld, openWindow, settle } from "../testing/fake-world.ts";
import { digest, signed, wants } from "../testing/update-facts.ts";
import { runUpdate } from "./run-update.ts";
import { memoryAnnotation, parseMemory, statusAnnotation, targetAnnotation, triggerAnnotation } from "./update-memory.ts";

const first = "registry.example.com/p:1.0.0";
const next = `registry.example.com/p:1.1.0@${digest}`;

function cluster(quality: Quality = "good", replicas = 3): FakeCluster {
  const fake = new FakeCluster({ "1.1.0": quality }, replicas);
  fake.secret = openWindow;
  return fake;
}

const statusOf = (fake: FakeCluster) => objectOf(jsonOf(fake.set.annotations[statusAnnotation] ?? ""));
const reasons = (fake: FakeCluster) => fake.events.map(({ reason }) => reason);

test("a newer version rolls out, one pod after the other, and is remembered as good", async () => {
  const fake = cluster();
  expect(await settle(fake)).toMatchObject({ reason: "up_to_date" });
  expect(fake.set.images).toEqual([next, next, next]);
  expect(fake.set.mostUnready).toBe(1);
  expect(parseMemory(fake.set.annotations[memoryAnnotation]).memory).toMatchObject({
    last: { version: "1.1.0", image: next, before: { image: first } },
  });
  expect(statusOf(fake)).toMatchObject({ reason: "up_to_date", current: "1.1.0", target: "1.1.0" });
  expect(reasons(fake)).toEqual(["RollingOut", "Upgraded", "UpToDate"]);
});

test.for([
  ["crash", 1],
  ["crash", 3],
  ["pull", 3],
  ["mute", 3],
] as const)(
  "a version whose pods %s with %i replicas ends at the previous image without help, with one pod down at most",
  async ([quality, replicas]) => {
    const fake = cluster(quality, replicas);
    expect(await settle(fake, {}, 80)).toMatchObject({ reason: "known_bad" });
    expect(fake.set.image).toBe(first);
    expect(fake.set.images).toEqual(Array.from({ length: replicas }, () => first));
    expect(fake.set.mostUnready).toBe(1);
    expect(reasons(fake)).toEqual(["RollingOut", "RollingOut", "RolledBack", "KnownBad"]);
    expect(statusOf(fake)).toMatchObject({ reason: "known_bad", current: "1.0.0", target: "1.1.0" });
  },
);

test("a version that refuses the configuration is rolled back, and tried again once that is changed", async () => {
  const fake = cluster("choosy", 3);
  fake.set.configure("wrong");
  expect(await settle(fake, {}, 80)).toMatchObject({
    reason: "known_bad",
    detail: expect.stringContaining("once the release's configuration is changed"),
  });
  expect(fake.set.image).toBe(first);
  fake.set.configure("wrong in another way");
  expect(await settle(fake, {}, 80)).toMatchObject({ reason: "known_bad" });
  const attempts = reasons(fake).filter((reason) => reason === "RolledBack").length;
  expect(attempts).toBe(2);
  fake.set.configure("right");
  expect(await settle(fake, {}, 80)).toMatchObject({ reason: "up_to_date" });
  expect(fake.set.images).toEqual([next, next, next]);
  expect(parseMemory(fake.set.annotations[memoryAnnotation]).memory.skip).toEqual([]);
});

test("a registry that is away during the roll-out, for longer than pulls are tried, makes no version bad", async () => {
  const qualities: Record<string, Quality> = { "1.1.0": "pull" };
  const fake = new FakeCluster(qualities);
  fake.secret = openWindow;
  const away = { verdict: { kind: "unknown", detail: "connection refused" } } as const;
  await settle(fake, {}, 2);
  expect(await settle(fake, away, 60)).toMatchObject({ reason: "rolling_out", detail: expect.stringContaining("unreachable") });
  // It answers again: the kubelet pulls after a pause.
  expect(await settle(fake, {}, 3)).toMatchObject({ reason: "rolling_out", detail: expect.stringContaining("another attempt") });
  qualities["1.1.0"] = "good";
  expect(await settle(fake)).toMatchObject({ reason: "up_to_date" });
  expect(parseMemory(fake.set.annotations[memoryAnnotation]).memory.skip).toEqual([]);
  expect(fake.set.images).toEqual([next, next, next]);
});

test("a single replica comes back with the image that ran while the registry is away, and takes the version once it answers", async () => {
  const qualities: Record<string, Quality> = { "1.1.0": "pull" };
  const fake = new FakeCluster(qualities, 1);
  fake.secret = openWindow;
  const away = { verdict: { kind: "unknown", detail: "connection refused" } } as const;
  await settle(fake, {}, 2);
  expect(await settle(fake, away, 25)).toMatchObject({ reason: "rolling_out", detail: expect.stringContaining("unreachable") });
  expect(fake.set.images).toEqual([next]);
  expect(await settle(fake, away, 60)).toMatchObject({ reason: "repository_unreachable" });
  expect(fake.set.images).toEqual([first]);
  expect(reasons(fake)).toEqual(["RollingOut", "RollingOut", "RepositoryUnreachable"]);
  expect(statusOf(fake)).toMatchObject({ reason: "repository_unreachable", current: "1.0.0", target: "1.1.0" });
  expect(parseMemory(fake.set.annotations[memoryAnnotation]).memory).toMatchObject({ skip: [], undone: [] });
  qualities["1.1.0"] = "good";
  expect(await settle(fake)).toMatchObject({ reason: "up_to_date" });
  expect(fake.set.images).toEqual([next]);
});

test("a version that is broken from the start is healed by a newer one, outside of the window", async () => {
  const fake = new FakeCluster({ "1.0.0": "crash" });
  fake.set.step();
  expect(await settle(fake)).toMatchObject({ reason: "up_to_date" });
  expect(fake.set.images).toEqual([next, next, next]);
});

test("an unchanged result is written once, and again after 25 minutes", async () => {
  const fake = cluster();
  const options = { wanted: wants("1.0.0", { proof: signed() }) };
  await settle(fake, options, 10);
  expect(fake.writes).toHaveLength(1);
  expect(parseMemory(fake.set.annotations[memoryAnnotation]).memory.signed_at).toBe(1400);
  fake.seconds += 1500;
  await settle(fake, options, 10);
  expect(fake.writes).toHaveLength(2);
  expect(fake.events).toHaveLength(1);
});

test("a signed statement is remembered with the update that it ordered: an unsigned one does not count after it", async () => {
  const fake = cluster();
  await runUpdate(fakeWorld(fake, fake.client("me"), { wanted: wants("1.1.0", { proof: signed() }) }));
  expect(fake.writes).toHaveLength(1);
  expect(parseMemory(fake.set.annotations[memoryAnnotation]).memory).toMatchObject({ signed_at: 1400, update: { phase: "rolling" } });
  await settle(fake, { wanted: wants("1.1.0") });
  expect(parseMemory(fake.set.annotations[memoryAnnotation]).memory.signed_at).toBe(1400);
});

test("an image that is missing, unsigned or unknown changes nothing but the result", async () => {
  for (const [kind, reason] of [
    ["missing", "package_missing"],
    ["refused", "signature_wrong"],
    ["unknown", "repository_unreachable"],
  ] as const) {
    const fake = cluster();
    expect(await settle(fake, { verdict: { kind, detail: "x" } }, 5)).toMatchObject({ reason });
    expect(fake.set.image).toBe(first);
    expect(statusOf(fake)).toMatchObject({ reason, target: "1.1.0" });
    expect(fake.events).toMatchObject([{ type: "Warning" }]);
  }
});

test("a tool that sets the image back is fought once, not twice; a person's trigger tries again", async () => {
  const fake = cluster();
  const images: string[] = [];
  for (let round = 0; round < 30; round += 1) {
    await runUpdate(fakeWorld(fake, fake.client("me")));
    if (fake.set.image !== first) {
      images.push(fake.set.image);
      fake.set.setImage(first);
    }
    fake.set.step();
    fake.seconds += 5;
  }
  expect(images).toEqual([next, next]);
  expect(statusOf(fake)).toMatchObject({ reason: "set_back", current: "1.0.0", target: "1.1.0" });
  fake.set.annotate(triggerAnnotation, "again");
  expect(await settle(fake)).toMatchObject({ reason: "up_to_date" });
});

test("in suggest mode only the target is written, and taken away once it has been followed", async () => {
  const fake = cluster();
  expect(await settle(fake, { mode: "suggest" }, 5)).toMatchObject({ reason: "suggested" });
  expect(fake.set.image).toBe(first);
  expect(jsonOf(fake.set.annotations[targetAnnotation] ?? "")).toEqual({ version: "1.1.0", image: next });
  fake.set.setImage(next);
  expect(await settle(fake, { mode: "suggest" })).toMatchObject({ reason: "up_to_date" });
  expect(fake.set.annotations).not.toHaveProperty([targetAnnotation]);
});

test("a change by somebody else between reading and writing is never overwritten", async () => {
  const fake = cluster();
  const client = fake.client("me");
  let isRaced = false;
  const racing = {
    ...client,
    request: async (request: Parameters<typeof client.request>[0]) => {
      if (request.method === "PATCH" && !isRaced) {
        isRaced = true;
        fake.set.setImage("registry.example.com/p:1.2.0");
      }
      return await client.request(request);
    },
  };
  await runUpdate(fakeWorld(fake, racing));
  expect(fake.set.image).toBe("registry.example.com/p:1.2.0");
});

test("without the workload, or with an API server that refuses, the run says so and ends", async () => {
  const fake = cluster();
  const answering = (status: number) => ({
    ...fake.client("me"),
    request: async () => ({ status, headers: {}, body: Buffer.from('{"message":"no"}') }),
  });
  expect(await runUpdate(fakeWorld(fake, answering(403)))).toMatchObject({ reason: "kubernetes_failed", detail: expect.stringContaining("Role") });
  expect(await runUpdate(fakeWorld(fake, answering(503)))).toMatchObject({ reason: "kubernetes_failed" });
  expect(await runUpdate(fakeWorld(fake, answering(200)))).toMatchObject({ reason: "not_configured" });
});
