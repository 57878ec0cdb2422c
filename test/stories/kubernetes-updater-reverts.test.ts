import { expect, test } from "vitest";
import { Sightings } from "../../updater/kube/update/sightings.ts";
import { describeUpdater } from "../world/kubernetes/describe-updater.ts";
import type { SeenWorkload } from "../world/kubernetes/seen-workload.ts";

/** How many templates it has had. A Deployment's generation counts annotations too, which its controller then has to see; its revision counts templates. */
const templatesOf = ({ annotations, generation }: SeenWorkload): number => Number(annotations["deployment.kubernetes.io/revision"] ?? generation);

await describeUpdater("the Kubernetes updater, when a version fails or another tool sets it back", (world) => {
  const { site } = world;

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
});
