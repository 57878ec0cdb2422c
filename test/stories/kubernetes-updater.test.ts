import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { httpsGet } from "../../core/transport/dial/https-get.ts";
import { parseHostPort } from "../../core/transport/host-port.ts";
import { Sightings } from "../../updater/kube/sightings.ts";
import { kubeWorld } from "../world/kubernetes/kube-world.ts";
import { UpdaterWorld } from "../world/kubernetes/updater-world.ts";
import type { VersionSite } from "../world/kubernetes/version-site.ts";
import { ifPossible, NotHere } from "../world/not-here.ts";
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

describe.skipIf(kube instanceof NotHere)(`the Kubernetes updater${skip}`, () => {
  test("waits for the window, is woken by the trigger annotation, and replaces one pod after the other", async () => {
    const release = await world.install();
    await release.share({ window: "closed" });
    await using updater = await release.updater.start();
    expect((await release.reaches("up_to_date")).image).toBe(world.tagged("1.0.0"));
    expect(updater.lines.map(({ event }) => event)).toContainEqual(expect.stringContaining("StatefulSet is already up-to-date, not updating"));
    site.answers.version = "v1.1.0";
    await release.trigger();
    expect((await release.reaches("outside_window", 5_000)).generation).toBe(1);
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
    ["crash", "Parallel"],
    ["crash", "OrderedReady"],
    ["missing", "OrderedReady"],
  ] as const)("rolls back a version whose image is of the kind %s (%s), without help and with one pod down at most", async ([kind, policy]) => {
    const release = await world.install(3, policy);
    await release.share();
    site.answers.version = `v1.3.0-${kind}.1`;
    // A pull may fail for two minutes, and for ten more while the registry has the image: for the controller each second is half a minute.
    const sightings = new Sightings(() => performance.now() * (kind === "missing" ? 30 : 1));
    await using pods = release.watchReady();
    await using _updater = await release.updater.start([], { sightings });
    const seen = await release.reaches("rolled_back", 120_000);
    expect(seen).toMatchObject({ image: world.tagged("1.0.0"), generation: 3, isSettled: true });
    expect(await pods.end()).toBe(2);
    // The event comes after the status.
    const reasons = async () => (await release.events()).map((text) => text.split(":")[0]);
    await expect.poll(reasons, { timeout: 10_000 }).toEqual(["RolledBack", "RollingOut", "RollingOut"]);
    await release.trigger();
    expect((await release.reaches("known_bad")).generation).toBe(3);
    site.answers.version = "v1.1.0";
    await release.trigger();
    expect((await release.reaches("upgraded")).image).toEqual(world.imageOf("1.1.0"));
  });

  test("keeps a Deployment at the wanted version, and rolls it back with all pods ready", async () => {
    const release = await world.install(3, "Deployment");
    await release.share();
    site.answers.version = "v1.1.0";
    await using updater = await release.updater.start();
    // A Deployment's generation counts annotations too, which its controller then has to see; its revision counts templates.
    const ends = async (reason: string) => {
      await release.reaches(reason);
      const { image, annotations } = await release.becomes("its controller has seen that", ({ isSettled }) => isSettled);
      expect(image).toEqual(world.imageOf("1.1.0"));
      return annotations["deployment.kubernetes.io/revision"];
    };
    expect(await ends("upgraded")).toBe("2");
    await using pods = release.watchReady();
    site.answers.version = "v1.3.0-crash.1";
    await release.trigger();
    expect(await ends("rolled_back")).toBe("4");
    // The new pod is started beside the old ones.
    expect(await pods.end()).toBe(3);
    await release.trigger();
    expect(await ends("known_bad")).toBe("4");
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

  test("stops when another tool sets the image back, and tries again when a person triggers it", async () => {
    const release = await world.install(1);
    await release.share();
    site.answers.version = "v1.1.0";
    await using other = release.setBack({ from: /:1\.1\.0@/, to: world.tagged("1.0.0") });
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

  test("a controller that is killed fifty times at any point, and two at once after it: each version is one change of the image", {
    timeout: 300_000,
  }, async () => {
    const release = await world.install(2);
    await release.share();
    const account = await release.updater.account();
    for (const [turn, version] of ["1.1.0", "1.2.0"].entries()) {
      site.answers.version = `v${version}`;
      for (let round = 0; round < 25; round += 1) {
        // A lease that nobody released runs out after fifteen seconds: it is taken away, so that each round gets somewhere.
        await release.forgetLease();
        // Any moment of an update is meant: the rounds share them out.
        await release.updater.startAndKill(account, (round * 97) % 700);
      }
      await release.forgetLease();
      await using _one = await release.updater.start();
      await using _other = await release.updater.start();
      const seen = await release.becomes(
        `${version} has been rolled out`,
        ({ isSettled, reason, image }) => isSettled && ["upgraded", "up_to_date"].includes(reason) && image.includes(`:${version}@`),
      );
      expect(seen).toMatchObject({ generation: turn + 2, image: world.imageOf(version) });
    }
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
