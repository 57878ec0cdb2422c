import { expect, test } from "vitest";
import { parseMemory } from "../../updater/kube/update/update-memory.ts";
import type { ApiRelay } from "../world/kubernetes/api-relay.ts";
import { describeUpdater } from "../world/kubernetes/describe-updater.ts";
import { probeUpdater } from "../world/kubernetes/probe-updater.ts";
import type { KillPoint } from "../world/kubernetes/release-updater.ts";
import type { SeenWorkload } from "../world/kubernetes/seen-workload.ts";
import { updaterStep } from "../world/kubernetes/updater-step.ts";
import { long, rounds } from "../world/rounds.ts";
import { until } from "../world/until.ts";

/** The image that the updater's memory accounts for; undefined without one. */
function imageOfMemory(annotations: SeenWorkload["annotations"]): string | undefined {
  const { update, last } = parseMemory(annotations["platform.dev/update-state"]).memory;
  if (update === undefined) return last?.image;
  return update.phase === "rolling" ? update.to.image : update.from.image;
}

await describeUpdater("the Kubernetes updater, killed or without its API server", (world, kube) => {
  const { site } = world;

  test("a controller that is killed again and again, before and after each step: each version is one change of the image, and never half of one", {
    timeout: 600_000,
  }, async () => {
    const release = await world.install(2, "OrderedReady");
    await release.share();
    await using relay = await world.relay();
    const kills: string[] = [];
    /** An update with one controller after the other, each of which is killed. */
    const update = async (version: string, points: readonly KillPoint[]) => {
      site.answers.version = `v${version}`;
      const { image: before } = await release.see();
      for (const point of points) {
        // A lease that nobody released runs out after fifteen seconds: it is taken away, so that each round gets somewhere.
        await release.forgetLease();
        kills.push(`${point.isAfter ? "after" : "before"} ${updaterStep(await release.updater.killAt(relay, point))}`);
        const { image, annotations } = await release.see();
        expect(image, kills.at(-1)).toBe(imageOfMemory(annotations) ?? before);
      }
    };
    const before = (step: number | string): KillPoint => ({ step, isAfter: false });
    const after = (step: number | string): KillPoint => ({ step, isAfter: true });
    const both = (step: string) => [before(step), after(step)];
    // In full as many as a controller reads before its first write to the workload.
    const reads = (count: number) => Array.from({ length: rounds(count, 4) }, (_, at) => before(at + 1));
    const crash = "1.3.0-crash.1";
    await update("1.1.0", [...reads(10), ...both("create the lease"), ...both("set 1.1.0"), ...both("remember"), ...both("report")]);
    await update(crash, [before(`set ${crash}`), before("record an Event"), ...reads(8), ...both("set 1.1.0"), ...reads(8)]);
    await update(crash, [...both("delete a pod"), before("remember"), after("record an Event"), ...both("report")]);
    expect(await release.see()).toMatchObject({ reason: "known_bad", isSettled: true, generation: 4, image: world.imageOf("1.1.0") });
    await update("1.2.0", [before("set 1.2.0"), after("record an Event"), before("remember"), before("record an Event"), ...both("report")]);
    const seen = await release.see();
    expect(seen).toMatchObject({ reason: "up_to_date", isSettled: true, generation: 5, image: world.imageOf("1.2.0") });
    const steps = ["create the lease", "set 1.1.0", "delete a pod", "remember", "record an Event", "report"];
    expect(kills).toEqual(expect.arrayContaining(steps.flatMap((step) => [`before ${step}`, `after ${step}`])));
    expect(kills.length).toBeGreaterThanOrEqual(rounds(50, 36));
    expect(kills.filter((kill) => kill.endsWith("read")).length).toBeGreaterThan(rounds(15, 6));
  });

  test("takes over from a controller that was killed once its lease has run out, with the memory in it; of two at once only one writes", async () => {
    const release = await world.install(1);
    await release.share();
    await using relay = await world.relay();
    site.answers.version = "v1.3.0-crash.1";
    {
      await using _updater = await release.updater.start();
      await release.reaches("rolled_back");
      await release.trigger();
      await release.reaches("known_bad");
    }
    await release.forgetLease();
    // It has created a lease, read the workload, and put the memory into the lease.
    await release.updater.killAt(relay, { step: "update the lease", isAfter: true });
    // Another tool replaces the object, and with it the annotations.
    const lost = { "platform.dev/update-state": null, "platform.dev/update-status": null };
    await release.annotate(lost);
    let aheadMs = 0;
    const clock = { wall: () => new Date(), steady: () => performance.now() + aheadMs };
    const began = clock.steady();
    await using one = await world.relay();
    await using other = await world.relay();
    await using first = await release.updater.start([], { relay: one, clock });
    await using second = await release.updater.start([], { relay: other, clock });
    const hasLooked = ({ passed }: ApiRelay): boolean => passed.some(({ path }) => path.endsWith("/leases/agent"));
    await until("both have seen the lease", () => hasLooked(one) && hasLooked(other));
    if (!long) aheadMs = 14_000;
    expect(await release.reaches("known_bad")).toMatchObject({ generation: 3, image: world.tagged("1.0.0") });
    expect(clock.steady() - began).toBeGreaterThan(15_000);
    site.answers.version = "v1.6.0";
    await release.trigger();
    expect(await release.reaches("upgraded")).toMatchObject({ generation: 4, image: world.imageOf("1.6.0") });
    const leading = [first, second].filter(({ lines }) => lines.some(({ event }) => event === "became the leader"));
    expect(leading).toHaveLength(1);
    const writes = [one, other].map(({ passed }) => passed.map(updaterStep).filter((step) => step !== "read" && !step.endsWith("the lease")));
    expect(writes.toSorted((a, b) => a.length - b.length)).toEqual([[], expect.arrayContaining(["set 1.6.0", "remember"])]);
  });

  test("loses the API server in the middle of a roll-out for an hour: it stays alive, changes nothing, is not ready, and ends the update afterwards", async () => {
    const release = await world.install(3);
    await release.share();
    await using relay = await world.relay();
    site.answers.version = "v1.1.0";
    let isAway = false;
    const attempts: string[] = [];
    relay.passage = async (request, forward) => {
      const step = updaterStep(request);
      if (isAway) attempts.push(step);
      if (isAway) return undefined;
      if (step !== "set 1.1.0") return await forward();
      isAway = true;
      (await forward()).resume();
      relay.cut();
      return undefined;
    };
    let aheadMs = 0;
    const clock = { wall: () => new Date(), steady: () => performance.now() + aheadMs };
    await using updater = await release.updater.start([], { relay, clock });
    const shown = async () => (await probeUpdater(updater.metrics, "/metrics")).body;
    await until("its run has ended", async () => (await shown()).includes('runs_total{reason="kubernetes_failed"} 1\n'));
    // The cluster goes on without it.
    const rolled = await release.becomes("all pods have the version", ({ isSettled }) => isSettled);
    expect(rolled).toMatchObject({ image: world.imageOf("1.1.0"), reason: "rolling_out", generation: 2 });
    const passed = relay.passed.length;
    const count = (event: string) => updater.lines.filter((line) => line.event === event).length;
    for (const minutes of [1, 30, 60]) {
      aheadMs = minutes * 60_000;
      const before = count("could not exchange the lease");
      await until("it has asked again", () => count("could not exchange the lease") > before);
      if (minutes === 1) attempts.length = 0;
      expect(await probeUpdater(updater.health, "/healthz")).toMatchObject({ status: 200 });
      expect(await probeUpdater(updater.health, "/readyz")).toMatchObject({ status: 503 });
      expect(await shown()).toMatch(/platform_kube_updater_leader 0\n[\s\S]*platform_kube_updater_api_up 0\n/);
    }
    expect(count("is not the leader any more")).toBe(1);
    expect(attempts.length).toBeGreaterThan(1);
    expect(new Set(attempts)).toEqual(new Set(["read"]));
    expect(relay.passed).toHaveLength(passed);
    expect(await release.see()).toEqual(rolled);
    isAway = false;
    expect(await release.reaches("upgraded")).toMatchObject({ image: world.imageOf("1.1.0"), generation: 2 });
    expect(await probeUpdater(updater.health, "/readyz")).toMatchObject({ status: 200 });
    expect(await shown()).toMatch(/platform_kube_updater_leader 1\n[\s\S]*platform_kube_updater_api_up 1\n/);
  });

  test("uses every right of its Role, and asks for no other", async () => {
    const events = await world.requests();
    // A Deployment's release has the same rights, of Deployments.
    const used = new Set(events.map(({ verb, objectRef }) => `${objectRef?.resource?.replace("deployments", "statefulsets")} ${verb}`));
    const { stdout } = await kube.kubectl("1.20", ["get", "role", "agent-updater", "-o", "json", "--namespace", (await world.install(1)).namespace]);
    const { rules } = JSON.parse(stdout) as { rules: { resources: string[]; verbs: string[] }[] };
    const granted = new Set(rules.flatMap(({ resources, verbs }) => resources.flatMap((resource) => verbs.map((verb) => `${resource} ${verb}`))));
    expect([...used].toSorted()).toEqual([...granted].toSorted());
    expect(events.filter(({ responseStatus }) => responseStatus?.code === 403)).toEqual([]);
  });
});
