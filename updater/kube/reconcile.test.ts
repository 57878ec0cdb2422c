import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { silentLog } from "../../core/log/log.ts";
import { httpsGet } from "../../core/transport/dial/https-get.ts";
import { ControllerState } from "./controller-state.ts";
import { Reconciler } from "./reconcile.ts";
import { serveProbes } from "./serve-probes.ts";
import { FakeCluster } from "./testing/fake-cluster.ts";
import { fakeWorld, openWindow } from "./testing/fake-world.ts";
import type { UpdateEnding } from "./update/update-run.ts";

/** A reconciler that leads; each of its pauses is answered by the script, which may change the cluster and wake it. */
async function play(script: readonly ((fake: FakeCluster, poke: () => void) => void)[]) {
  const fake = new FakeCluster({});
  fake.secret = openWindow;
  const stop = new AbortController();
  const pauses: number[] = [];
  const endings: (UpdateEnding["reason"] | undefined)[] = [];
  const reconciler: Reconciler = new Reconciler({
    leader: { elected: async () => new AbortController().signal },
    open: async (signal) => ({ ...fakeWorld(fake, fake.client("me"), { signal }), [Symbol.asyncDispose]: async () => {} }),
    began: () => {},
    ended: (ending) => void endings.push(ending?.reason),
    log: silentLog,
    random: () => 1,
    wait: async (ms) => {
      pauses.push(ms);
      const act = script[pauses.length - 1];
      if (act === undefined) stop.abort();
      else act(fake, () => reconciler.poke());
    },
  });
  await reconciler.run(stop.signal);
  return { pauses, endings };
}

test("it looks again soon while a roll-out is under way and right after it, and otherwise every half an hour", async () => {
  const steps = (count: number) => (fake: FakeCluster) => {
    for (let step = 0; step < count; step += 1) fake.set.step();
  };
  const { pauses, endings } = await play([steps(1), steps(20), steps(1)]);
  expect(endings).toEqual(["rolling_out", "rolling_out", "upgraded", "up_to_date"]);
  expect(pauses).toEqual([18_750, 18_750, 18_750, 1_800_000]);
});

test("an event is followed by a run, after the others that come with it", async () => {
  const { pauses, endings } = await play([(_, poke) => poke(), () => {}]);
  expect(endings.length).toBeGreaterThan(1);
  expect(pauses[1]).toBe(300);
});

test("a run that fails is tried again soon", async () => {
  const { pauses, endings } = await play([
    (fake) => {
      fake.isAway = true;
    },
  ]);
  expect(endings).toEqual(["rolling_out", "kubernetes_failed"]);
  expect(pauses).toEqual([18_750, 18_750]);
});

function state(isLeader = true) {
  const world = { now: 1_000_000 };
  const clock = { wall: () => new Date(world.now), steady: () => world.now };
  return { world, state: new ControllerState({ updater: "1.0.0", clock, isLeader: () => isLeader }) };
}

test("health does not depend on the API server, readiness does, and a stuck run ends health", () => {
  const { world, state: controller } = state();
  expect([controller.health("/healthz")?.status, controller.health("/readyz")?.status]).toEqual([200, 503]);
  controller.heard(true);
  expect(controller.health("/readyz")?.status).toBe(200);
  world.now += 60_000;
  controller.heard(false);
  expect([controller.health("/healthz")?.status, controller.health("/readyz")?.status]).toEqual([200, 503]);
  controller.began();
  world.now += 10 * 60_000 + 1;
  expect(controller.health("/healthz")?.status).toBe(503);
  controller.ended("up_to_date");
  expect(controller.health("/healthz")?.status).toBe(200);
  expect(controller.health("/metrics")).toBeUndefined();
});

test("docs/kubernetes-updates.md lists every metric with its type", () => {
  const { state: controller } = state();
  controller.began();
  controller.ended("up_to_date");
  const served = [...(controller.metrics("/metrics")?.body ?? "").matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name, type]);
  const page = readFileSync(join(import.meta.dirname, "../../docs/kubernetes-updates.md"), "utf8");
  expect([...page.matchAll(/^\| `(platform_kube_\w+)` \| (\w+) \|/gm)].map(([, name, type]) => [name, type])).toEqual(served);
  expect(served).toHaveLength(5);
});

test("the probes answer GET and HEAD of their own paths, and nothing else", async () => {
  const { state: controller } = state();
  await using probes = await serveProbes({ host: "127.0.0.1", port: 0 }, controller.health);
  const status = async (path: string) => (await httpsGet(probes.address, path, { env: {}, plain: true })).status;
  expect([await status("/healthz?x"), await status("/readyz"), await status("/metrics"), await status("/")]).toEqual([200, 503, 404, 404]);
  await expect(serveProbes(probes.address, controller.health)).rejects.toMatchObject({ code: "unavailable" });
});
