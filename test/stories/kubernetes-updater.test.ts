import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { httpsGet } from "../../core/transport/dial/https-get.ts";
import { parseHostPort } from "../../core/transport/host-port.ts";
import { kubeWorld } from "../world/kubernetes/kube-world.ts";
import { type ReleaseParts, type ReleaseShape, UpdaterRelease } from "../world/kubernetes/updater-release.ts";
import { openVersionSite, type VersionSite } from "../world/kubernetes/version-site.ts";
import { ifPossible, NotHere } from "../world/not-here.ts";
import { imageKey, OciRegistry } from "../world/oci-registry.ts";
import { until } from "../world/until.ts";

/** The Kubernetes updater on a real API server, with the real controllers of StatefulSets; pods are on a node without containers. */

const world = await ifPossible(() => kubeWorld());
const isHere = !(world instanceof NotHere);
const skip = world instanceof NotHere ? ` (skipped: ${world.message})` : "";
const held = new AsyncDisposableStack();
let parts: ReleaseParts;
let site: VersionSite;
let registry: OciRegistry;

beforeAll(async () => {
  if (world instanceof NotHere) return;
  held.use(world);
  const folder = await mkdtemp(join(tmpdir(), "platform-kube-updater-"));
  held.defer(async () => await rm(folder, { recursive: true, force: true }));
  site = held.use(await openVersionSite(folder));
  registry = held.use(await new OciRegistry().listen());
  const key = imageKey();
  for (const version of ["1.0.0", "1.1.0", "1.2.0", "1.3.0-crash.1", "1.3.0-missing.1", "2.0.0"]) {
    registry.sign("p", registry.publish("p", version), { key, version });
  }
  registry.publish("p", "1.4.0");
  registry.sign("p", registry.publish("p", "1.5.0"), { key: imageKey(), version: "1.5.0" });
  parts = { world, site, registry, key, folder };
});
afterAll(async () => await held.disposeAsync());
beforeEach(() => {
  if (isHere) Object.assign(site.answers, { version: "v1.0.0", critical: false, proxy: "1.9.0", held: [], isSigning: true });
});

const probe = async (address: string, path: string) => {
  const { status, body } = await httpsGet(parseHostPort(address, undefined, "probe"), path, { env: {}, plain: true });
  return { status, body: body.toString() };
};
/** Service accounts of this file's updaters. */
const accounts = new Set<string>();
const install = async (replicas = 3, policy: ReleaseShape["policy"] = "Parallel") => {
  const release = await UpdaterRelease.install(parts, { replicas, policy });
  accounts.add(`system:serviceaccount:${release.namespace}:agent-updater`);
  return release;
};
const imageOf = (version: string) =>
  expect.stringMatching(new RegExp(`^${registry.host.replaceAll(".", "\\.")}/p:${version.replaceAll(".", "\\.")}@sha256:[0-9a-f]{64}$`));

describe.skipIf(!isHere)(`the Kubernetes updater${skip}`, () => {
  test("waits for the window, is woken by the trigger annotation, and replaces one pod after the other", async () => {
    const release = await install();
    await release.share({ window: "closed" });
    await using updater = await release.start();
    expect((await release.reaches("up_to_date")).image).toBe(`${registry.host}/p:1.0.0`);
    expect(updater.lines.map(({ event }) => event)).toContainEqual(expect.stringContaining("StatefulSet is already up-to-date, not updating"));
    site.answers.version = "v1.1.0";
    await release.annotate({ "debug.platform.dev/trigger-event": "1" });
    expect((await release.reaches("outside_window", 5_000)).generation).toBe(1);
    await release.share({ window: "open" });
    await release.annotate({ "debug.platform.dev/trigger-event": "2" });
    const seen = await release.reaches("upgraded");
    expect(seen).toMatchObject({ image: imageOf("1.1.0"), isSettled: true, generation: 2 });
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
    const release = await install(1);
    await using _updater = await release.start();
    site.answers.version = "v1.1.0";
    await release.annotate({ "debug.platform.dev/trigger-event": "1" });
    await release.reaches("no_schedule");
    await release.share({ window: "past" });
    await release.annotate({ "debug.platform.dev/trigger-event": "2" });
    await release.reaches("stale_schedule");
    site.answers.critical = true;
    await release.annotate({ "debug.platform.dev/trigger-event": "3" });
    expect((await release.reaches("upgraded")).image).toEqual(imageOf("1.1.0"));
  });

  test("leaves a suspended workload alone, and goes on when it is not suspended any more", async () => {
    const release = await install(1);
    await release.share();
    await release.annotate({ "platform.dev/skipreconcile": "true" });
    site.answers.version = "v1.1.0";
    await using _updater = await release.start();
    expect((await release.reaches("held_by_admin")).generation).toBe(1);
    await release.annotate({ "platform.dev/skipreconcile": null });
    expect((await release.reaches("upgraded")).image).toEqual(imageOf("1.1.0"));
  });

  test("changes nothing for an image that is missing, unsigned, signed by others or unknown, nor for a version above the proxy's", async () => {
    const release = await install(1);
    await release.share();
    await using _updater = await release.start();
    let trigger = 0;
    const wants = async (version: string, reason: string) => {
      site.answers.version = version;
      trigger += 1;
      await release.annotate({ "debug.platform.dev/trigger-event": `${trigger}` });
      expect(await release.reaches(reason), version).toMatchObject({ generation: 1, image: `${registry.host}/p:1.0.0` });
    };
    await release.reaches("up_to_date");
    await wants("v1.9.9", "package_missing");
    await wants("v1.4.0", "signature_wrong");
    registry.fault = 503;
    await wants("v1.1.0", "repository_unreachable");
    registry.fault = undefined;
    await wants("v2.0.0", "above_proxy");
    await wants("v1.5.0", "signature_wrong");
    await wants("v0.9.0", "not_signed");
    expect(await release.events()).toContainEqual(expect.stringMatching(/^PackageMissing: 1\.9\.9 is not installed: .* does not exist in registry/));
  });

  test.for([
    ["crash", "Parallel"],
    ["crash", "OrderedReady"],
    ["missing", "OrderedReady"],
  ] as const)("rolls back a version whose image is of the kind %s (%s), without help and with one pod down at most", async ([kind, policy]) => {
    const release = await install(3, policy);
    await release.share();
    site.answers.version = `v1.3.0-${kind}.1`;
    // A pull may fail for two minutes: they are over at once by the controller's clock.
    const clock = { wall: () => new Date(Date.now() + (kind === "missing" ? 130_000 : 0)), steady: () => performance.now() };
    let lowest = 3;
    const stop = new AbortController();
    const watching = (async () => {
      while (!stop.signal.aborted) lowest = Math.min(lowest, (await release.see()).ready);
    })();
    await using _updater = await release.start([], { clock });
    const seen = await release.reaches("rolled_back", 120_000);
    stop.abort();
    await watching;
    expect(seen).toMatchObject({ image: `${registry.host}/p:1.0.0`, generation: 3, isSettled: true });
    expect(lowest).toBe(2);
    expect((await release.events()).map((text) => text.split(":")[0])).toEqual(["RolledBack", "RollingOut", "RollingOut"]);
    await release.annotate({ "debug.platform.dev/trigger-event": "0" });
    expect((await release.reaches("known_bad")).generation).toBe(3);
    site.answers.version = "v1.1.0";
    await release.annotate({ "debug.platform.dev/trigger-event": "1" });
    expect((await release.reaches("upgraded")).image).toEqual(imageOf("1.1.0"));
  });

  test("keeps a Deployment at the wanted version, and rolls it back with all pods ready", async () => {
    const release = await install(3, "Deployment");
    await release.share();
    site.answers.version = "v1.1.0";
    await using updater = await release.start();
    // A Deployment's generation counts annotations too, which its controller then has to see; its revision counts templates.
    const ends = async (reason: string) => {
      await release.reaches(reason);
      const { image, annotations } = await until("its controller has seen that", async () => {
        const seen = await release.see();
        return seen.isSettled ? seen : undefined;
      });
      expect(image).toEqual(imageOf("1.1.0"));
      return annotations["deployment.kubernetes.io/revision"];
    };
    expect(await ends("upgraded")).toBe("2");
    const stop = new AbortController();
    let lowest = 3;
    const watching = (async () => {
      while (!stop.signal.aborted) lowest = Math.min(lowest, (await release.see()).ready);
    })();
    site.answers.version = "v1.3.0-crash.1";
    await release.annotate({ "debug.platform.dev/trigger-event": "1" });
    expect(await ends("rolled_back")).toBe("4");
    stop.abort();
    await watching;
    // The new pod is started beside the old ones.
    expect(lowest).toBe(3);
    await release.annotate({ "debug.platform.dev/trigger-event": "2" });
    expect(await ends("known_bad")).toBe("4");
    expect(updater.lines.map(({ event }) => event)).toContainEqual(expect.stringContaining("Deployment agent was updated from 1.0.0 to 1.1.0"));
  });

  test("heals pods that keep failing by a newer version, outside of the window, and deletes the broken pod that blocks it", async () => {
    const release = await install(1, "OrderedReady");
    await release.share({ window: "closed" });
    await release.setImage(`${registry.host}/p:1.0.1-crash.1`);
    await until("the pod is broken", async () => (await release.see()).ready === 0);
    site.answers.version = "v1.1.0";
    await using _updater = await release.start();
    expect(await release.reaches("upgraded")).toMatchObject({ image: imageOf("1.1.0"), isSettled: true });
  });

  test("stops when another tool sets the image back, and tries again when a person triggers it", async () => {
    const release = await install(1);
    await release.share();
    site.answers.version = "v1.1.0";
    const stop = new AbortController();
    let reversals = 0;
    const reverting = (async () => {
      while (!stop.signal.aborted) {
        if ((await release.see()).image.includes(":1.1.0")) {
          reversals += 1;
          await release.setImage(`${registry.host}/p:1.0.0`);
        }
      }
    })();
    await using _updater = await release.start();
    expect(await release.reaches("set_back")).toMatchObject({ image: `${registry.host}/p:1.0.0` });
    stop.abort();
    await reverting;
    expect(reversals).toBe(2);
    await release.annotate({ "debug.platform.dev/trigger-event": "again" });
    expect((await release.reaches("upgraded")).image).toEqual(imageOf("1.1.0"));
  });

  test("in suggest mode writes only which image should be set", async () => {
    const release = await install(1);
    await release.share();
    site.answers.version = "v1.1.0";
    await using _updater = await release.start(["--mode=suggest"]);
    const seen = await release.reaches("suggested");
    expect(seen.generation).toBe(1);
    const { image } = JSON.parse(seen.annotations["platform.dev/update-target"] ?? "{}") as { image: string };
    await release.setImage(image);
    expect((await release.reaches("up_to_date")).annotations).not.toHaveProperty(["platform.dev/update-target"]);
  });

  test("goes with the first of its agents that a staged roll-out releases, and lowers a version only where the auth service signs it", async () => {
    const release = await install(2);
    await release.share({ hosts: { "agent-0": "host-0", "agent-1": "host-1", "agent-9": "gone" } });
    Object.assign(site.answers, { version: "v1.1.0", held: ["host-0", "host-1"] });
    await using _updater = await release.start();
    await release.reaches("held_by_rollout");
    site.answers.held = ["host-0"];
    await release.annotate({ "debug.platform.dev/trigger-event": "1" });
    expect((await release.reaches("upgraded")).image).toEqual(imageOf("1.1.0"));
    expect(site.asked).not.toContain("gone");
    Object.assign(site.answers, { version: "v1.0.0", held: [] });
    await release.annotate({ "debug.platform.dev/trigger-event": "2" });
    expect(
      (
        await until("it is lowered", async () => {
          const seen = await release.see();
          return seen.generation === 3 && seen.reason === "upgraded" ? seen : undefined;
        })
      ).image,
    ).toEqual(imageOf("1.0.0"));
    Object.assign(site.answers, { version: "v1.1.0", isSigning: false });
    await release.annotate({ "debug.platform.dev/trigger-event": "3" });
    expect((await release.reaches("not_signed")).generation).toBe(3);
  });

  test("a controller that is killed fifty times at any point, and two at once after it: each version is one change of the image", {
    timeout: 300_000,
  }, async () => {
    const release = await install(2);
    await release.share();
    const account = await release.account();
    for (const [turn, version] of ["1.1.0", "1.2.0"].entries()) {
      site.answers.version = `v${version}`;
      for (let round = 0; round < 25; round += 1) {
        // A lease that nobody released runs out after fifteen seconds: it is taken away, so that each round gets somewhere.
        await release.forgetLease();
        const child = await release.spawn(account);
        await once(child.stderr ?? process.stderr, "data");
        // Any moment of an update is meant: the rounds share them out.
        await sleep((round * 97) % 700);
        child.kill("SIGKILL");
        await once(child, "close");
      }
      await release.forgetLease();
      await using _one = await release.start();
      await using _other = await release.start();
      const seen = await until(`${version} has been rolled out`, async () => {
        const now = await release.see();
        const isDone = now.isSettled && (now.reason === "upgraded" || now.reason === "up_to_date");
        return isDone && now.image.includes(`:${version}@`) ? now : undefined;
      });
      expect(seen).toMatchObject({ generation: turn + 2, image: imageOf(version) });
    }
  });

  test("uses every right of its Role, and asks for no other", async () => {
    if (world instanceof NotHere) return;
    const events = await world.auditEvents(({ user }) => accounts.has(user.username));
    // A Deployment's release has the same rights, of Deployments.
    const used = new Set(events.map(({ verb, objectRef }) => `${objectRef?.resource?.replace("deployments", "statefulsets")} ${verb}`));
    const { stdout } = await world.kubectl("1.20", ["get", "role", "agent-updater", "-o", "json", "--namespace", (await install(1)).namespace]);
    const { rules } = JSON.parse(stdout) as { rules: { resources: string[]; verbs: string[] }[] };
    const granted = new Set(rules.flatMap(({ resources, verbs }) => resources.flatMap((resource) => verbs.map((verb) => `${resource} ${verb}`))));
    expect([...used].toSorted()).toEqual([...granted].toSorted());
    expect(events.filter(({ responseStatus }) => responseStatus?.code === 403)).toEqual([]);
  });
});
