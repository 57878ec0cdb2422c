import { expect, test } from "vitest";
import { describeUpdater } from "../world/kubernetes/describe-updater.ts";
import { probeUpdater } from "../world/kubernetes/probe-updater.ts";
import { long } from "../world/rounds.ts";
import { until } from "../world/until.ts";

await describeUpdater("the Kubernetes updater", (world) => {
  const { site } = world;

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
    expect(await probeUpdater(updater.health, "/healthz")).toMatchObject({ status: 200 });
    expect(await probeUpdater(updater.health, "/readyz")).toMatchObject({ status: 200 });
    expect((await probeUpdater(updater.metrics, "/metrics")).body).toMatch(
      /platform_kube_updater_leader 1\n[\s\S]*runs_total\{reason="upgraded"\} 1/,
    );
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
});
