import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { httpsGet } from "../../core/transport/dial/https-get.ts";
import { parseHostPort } from "../../core/transport/host-port.ts";
import { Sightings } from "../../updater/kube/sightings.ts";
import { parseMemory } from "../../updater/kube/update-memory.ts";
import type { ApiRelay } from "../world/kubernetes/api-relay.ts";
import { kubeWorld } from "../world/kubernetes/kube-world.ts";
import type { KillPoint } from "../world/kubernetes/release-updater.ts";
import type { SeenWorkload } from "../world/kubernetes/seen-workload.ts";
import { updaterStep } from "../world/kubernetes/updater-step.ts";
import { UpdaterWorld } from "../world/kubernetes/updater-world.ts";
import type { VersionSite } from "../world/kubernetes/version-site.ts";
import { ifPossible, NotHere } from "../world/not-here.ts";
import { long, rounds } from "../world/rounds.ts";
import { until } from "../world/until.ts";

/** The Kubernetes updater on a real API server, with the real controllers of StatefulSets; pods are on a node without containers. */

const kube = await ifPossible(() => kubeWorld());
const skip = kube instanceof NotHere ? ` (skipped: ${kube.message})` : "";
let world: UpdaterWorld;
let site: VersionSite;

beforeAll(async () => {
  if (kube instanceof NotHere) return;
  world = await UpdaterWorld.open(kube);
  ({ site } = world);
});
afterAll(async () => await world?.[Symbol.asyncDispose]());
beforeEach(() => {
  if (world !== undefined) Object.assign(site.answers, { version: "v1.0.0", critical: false, proxy: "1.9.0", held: [], isSigning: true });
});

const probe = async (address: string, path: string) => {
  const { status, body } = await httpsGet(parseHostPort(address, undefined, "probe"), path, { env: {}, plain: true });
  return { status, body: body.toString() };
};

/** How many templates it has had. A Deployment's generation counts annotations too, which its controller then has to see; its revision counts templates. */
const templatesOf = ({ annotations, generation }: SeenWorkload): number => Number(annotations["deployment.kubernetes.io/revision"] ?? generation);

/** The image that the updater's memory accounts for; undefined without one. */
function imageOfMemory(annotations: SeenWorkload["annotations"]): string | undefined {
  const { update, last } = parseMemory(annotations["platform.dev/update-state"]).memory;
  if (update === undefined) return last?.image;
  return update.phase === "rolling" ? update.to.image : update.from.image;
}

describe.skipIf(kube instanceof NotHere)(`the Kubernetes updater${skip}`, () => {
  test("waits for the window, is woken by the trigger annotation, and replaces one pod after the other", async () => {
    const release = await world.install();
    await release.share({ window: "closed" });
    await using updater = await release.updater.start();
    expect((await release.reaches("up_to_date")).image).toBe(world.tagged("1.0.0"));
    expect(updater.lines.map(({ event }) => event)).toContainEqual(expect.stringContaining("StatefulSet is already up-to-date, not updating"));
    site.answers.version = "v1.1.0";
    await release.trigger();
    expect((await release.reaches("outside_window", long ? 2_000 : 5_000)).generation).toBe(1);
    await release.share({ window: "open" });
    await release.trigger();
    const seen = await release.reaches("upgraded");
    expect(seen).toMatchObject({ image: world.imageOf("1.1.0"), isSettled: true, generation: 2 });
    // The Event comes after the annotation.
    await until("the Event of the end", async () => (await release.events()).some((text) => text.startsWith("Upgraded")));
    expect(await release.events()).toEqual([
      expect.stringMatching(/^OutsideWindow: No maintenance triggered, not updating: 1\.1\.0 waits/),
      expect.stringMatching(/^RollingOut: a newer version, 1\.1\.0, and the maintenance window is open$/),
      expect.stringMatching(/^UpToDate: /),
      expect.stringMatching(/^Upgraded: StatefulSet agent was updated from 1\.0\.0 to 1\.1\.0$/),
    ]);
    expect(await probe(updater.health, "/healthz")).toMatchObject({ status: 200 });
    expect(await probe(updater.health, "/readyz")).toMatchObject({ status: 200 });
    expect((await probe(updater.metrics, "/metrics")).body).toMatch(/platform_kube_updater_leader 1\n[\s\S]*runs_total\{reason="upgraded"\} 1/);
  });

  test("takes a critical version outside of the window, and none without a schedule otherwise", async () => {
    const release = await world.install(1);
    await using _updater = await release.updater.start();
    site.answers.version = "v1.1.0";
    await release.trigger();
    await release.reaches("no_schedule");
    await release.share({ window: "past" });
    await release.trigger();
    await release.reaches("stale_schedule");
    site.answers.critical = true;
    await release.trigger();
    expect((await release.reaches("upgraded")).image).toEqual(world.imageOf("1.1.0"));
  });

  test("leaves a suspended workload alone, and goes on when it is not suspended any more", async () => {
    const release = await world.install(1);
    await release.share();
    await release.annotate({ "platform.dev/skipreconcile": "true" });
    site.answers.version = "v1.1.0";
    await using _updater = await release.updater.start();
    expect((await release.reaches("held_by_admin")).generation).toBe(1);
    await release.annotate({ "platform.dev/skipreconcile": null });
    expect((await release.reaches("upgraded")).image).toEqual(world.imageOf("1.1.0"));
  });

  test("changes nothing for an image that is missing, unsigned, signed by others or unknown, nor for a version above the proxy's", async () => {
    const release = await world.install(1);
    await release.share();
    await using _updater = await release.updater.start();
    const wants = async (version: string, reason: string) => {
      site.answers.version = version;
      await release.trigger();
      expect(await release.reaches(reason), version).toMatchObject({ generation: 1, image: world.tagged("1.0.0") });
    };
    await release.reaches("up_to_date");
    await wants("v1.9.9", "package_missing");
    await wants("v1.4.0", "signature_wrong");
    world.registry.fault = 503;
    await wants("v1.1.0", "repository_unreachable");
    world.registry.fault = undefined;
    await wants("v2.0.0", "above_proxy");
    await wants("v1.5.0", "signature_wrong");
    await wants("v0.9.0", "not_signed");
    await expect
      .poll(() => release.events(), { timeout: 10_000 })
      .toContainEqual(expect.stringMatching(/^PackageMissing: 1\.9\.9 is not installed: .* does not exist in registry/));
  });

  test.for([
    ["crash", ["Parallel", "OrderedReady"]],
    ["missing", ["OrderedReady", "Deployment"]],
  ] as const)("rolls back a version whose image is of the kind %s (%s), without help and with one pod down at most", async ([kind, policies]) => {
    const releases = await Promise.all(policies.map((policy) => world.install(3, policy)));
    await Promise.all(releases.map((release) => release.share()));
    /** What each of them has at the end: its image, and how many templates it has had. */
    const end = (reason: string) =>
      Promise.all(
        releases.map(async (release) => {
          await release.reaches(reason, 120_000);
          const seen = await release.becomes("its controller has seen that", ({ isSettled }) => isSettled);
          return [seen.image, templatesOf(seen)];
        }),
      );
    site.answers.version = `v1.3.0-${kind}.1`;
    // A pull may fail for two minutes, and for ten more while the registry has the image: for the controller each second is half a minute.
    const sightings = () => new Sightings(() => performance.now() * (kind === "missing" ? 30 : 1));
    await using held = new AsyncDisposableStack();
    const pods = releases.map((release) => held.use(release.watchReady()));
    for (const { updater } of releases) held.use(await updater.start([], { sightings: sightings() }));
    const back = [world.tagged("1.0.0"), 3];
    expect(await end("rolled_back")).toEqual([back, back]);
    // A Deployment's new pod is started beside the old ones.
    expect(await Promise.all(pods.map((one) => one.end()))).toEqual(policies.map((policy) => (policy === "Deployment" ? 3 : 2)));
    // The event comes after the status. One release may be a run ahead of the other.
    for (const release of releases) {
      const reasons = async () => (await release.events()).map((text) => text.split(":")[0]).filter((reason) => reason !== "KnownBad");
      await expect.poll(reasons, { timeout: 10_000 }).toEqual(["RolledBack", "RollingOut", "RollingOut"]);
    }
    await Promise.all(releases.map((release) => release.trigger()));
    expect(await end("known_bad")).toEqual([back, back]);
    site.answers.version = "v1.1.0";
    await Promise.all(releases.map((release) => release.trigger()));
    for (const [image] of await end("upgraded")) expect(image).toEqual(world.imageOf("1.1.0"));
  });

  test("keeps a Deployment at the wanted version, and rolls it back with all pods ready", async () => {
    const release = await world.install(3, "Deployment");
    await release.share();
    site.answers.version = "v1.1.0";
    await using updater = await release.updater.start();
    const ends = async (reason: string) => {
      await release.reaches(reason);
      const seen = await release.becomes("its controller has seen that", ({ isSettled }) => isSettled);
      expect(seen.image).toEqual(world.imageOf("1.1.0"));
      return templatesOf(seen);
    };
    expect(await ends("upgraded")).toBe(2);
    await using pods = release.watchReady();
    site.answers.version = "v1.3.0-crash.1";
    await release.trigger();
    expect(await ends("rolled_back")).toBe(4);
    // The new pod is started beside the old ones.
    expect(await pods.end()).toBe(3);
    await release.trigger();
    expect(await ends("known_bad")).toBe(4);
    expect(updater.lines.map(({ event }) => event)).toContainEqual(expect.stringContaining("Deployment agent was updated from 1.0.0 to 1.1.0"));
  });

  test("heals pods that keep failing by a newer version, outside of the window, and deletes the broken pod that blocks it", async () => {
    const release = await world.install(1, "OrderedReady");
    await release.share({ window: "closed" });
    await release.setImage(world.tagged("1.0.1-crash.1"));
    await release.becomes("the pod is broken", ({ ready }) => ready === 0);
    site.answers.version = "v1.1.0";
    await using _updater = await release.updater.start();
    expect(await release.reaches("upgraded")).toMatchObject({ image: world.imageOf("1.1.0"), isSettled: true });
  });

  test("stops when another tool applies the manifest with the image before again and again, and tries again when a person triggers it", async () => {
    const release = await world.install(1);
    await release.share();
    site.answers.version = "v1.1.0";
    await using other = release.setBack();
    await using _updater = await release.updater.start();
    expect(await release.reaches("set_back")).toMatchObject({ image: world.tagged("1.0.0") });
    expect(await other.end()).toBe(2);
    await release.trigger();
    expect((await release.reaches("upgraded")).image).toEqual(world.imageOf("1.1.0"));
  });

  test("in suggest mode writes only which image should be set", async () => {
    const release = await world.install(1);
    await release.share();
    site.answers.version = "v1.1.0";
    await using _updater = await release.updater.start(["--mode=suggest"]);
    const seen = await release.reaches("suggested");
    expect(seen.generation).toBe(1);
    const { image } = JSON.parse(seen.annotations["platform.dev/update-target"] ?? "{}") as { image: string };
    await release.setImage(image);
    expect((await release.reaches("up_to_date")).annotations).not.toHaveProperty(["platform.dev/update-target"]);
  });

  test("goes with the first of its agents that a staged roll-out releases, and lowers a version only where the auth service signs it", async () => {
    const release = await world.install(2);
    await release.share({ hosts: { "agent-0": "host-0", "agent-1": "host-1", "agent-9": "gone" } });
    Object.assign(site.answers, { version: "v1.1.0", held: ["host-0", "host-1"] });
    await using _updater = await release.updater.start();
    await release.reaches("held_by_rollout");
    site.answers.held = ["host-0"];
    await release.trigger();
    expect((await release.reaches("upgraded")).image).toEqual(world.imageOf("1.1.0"));
    expect(site.asked).not.toContain("gone");
    Object.assign(site.answers, { version: "v1.0.0", held: [] });
    await release.trigger();
    const lowered = await release.becomes("it is lowered", ({ generation, reason }) => generation === 3 && reason === "upgraded");
    expect(lowered.image).toEqual(world.imageOf("1.0.0"));
    Object.assign(site.answers, { version: "v1.1.0", isSigning: false });
    await release.trigger();
    expect((await release.reaches("not_signed")).generation).toBe(3);
  });

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
    const shown = async () => (await probe(updater.metrics, "/metrics")).body;
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
      expect(await probe(updater.health, "/healthz")).toMatchObject({ status: 200 });
      expect(await probe(updater.health, "/readyz")).toMatchObject({ status: 503 });
      expect(await shown()).toMatch(/platform_kube_updater_leader 0\n[\s\S]*platform_kube_updater_api_up 0\n/);
    }
    expect(count("is not the leader any more")).toBe(1);
    expect(attempts.length).toBeGreaterThan(1);
    expect(new Set(attempts)).toEqual(new Set(["read"]));
    expect(relay.passed).toHaveLength(passed);
    expect(await release.see()).toEqual(rolled);
    isAway = false;
    expect(await release.reaches("upgraded")).toMatchObject({ image: world.imageOf("1.1.0"), generation: 2 });
    expect(await probe(updater.health, "/readyz")).toMatchObject({ status: 200 });
    expect(await shown()).toMatch(/platform_kube_updater_leader 1\n[\s\S]*platform_kube_updater_api_up 1\n/);
  });

  test("uses every right of its Role, and asks for no other", async () => {
    if (kube instanceof NotHere) return;
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
