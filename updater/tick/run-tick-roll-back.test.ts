import { describe, expect, test } from "vitest";
import { wants } from "../testing/facts.ts";
import type { Quality } from "../testing/memory-agent.ts";
import { MemoryHost } from "../testing/memory-host.ts";
import { tick } from "../testing/tick.ts";
import { runTick } from "./run-tick.ts";
import { UpgradeError } from "./upgrade-error.ts";

describe("a run", () => {
  test.for<[Quality, string]>([
    ["crashes", "the process keeps failing"],
    ["dies", "the process keeps failing"],
    ["mute", "its tunnel is missing"],
    ["refused", "the previous process kept running"],
  ])("rolls back a version that %s, skips it, and installs the next one", async ([quality, why]) => {
    const host = new MemoryHost({ answer: wants("1.1.0"), qualities: { "1.1.0": quality } });
    expect(await tick(host)).toMatchObject({ reason: "rolled_back", detail: expect.stringContaining(why) });
    expect([host.installed, host.running]).toEqual(["1.0.0", "1.0.0"]);
    expect(host.found.skip).toMatchObject([{ version: "1.1.0", why }]);
    expect(await tick(host)).toMatchObject({ reason: "known_bad" });
    expect(host.packages.agentInstalls).toEqual(["1.1.0", "1.0.0"]);
    host.answer = wants("1.2.0");
    expect(await tick(host)).toMatchObject({ reason: "upgraded" });
    expect(host.running).toBe("1.2.0");
  });

  test("when forced installs a version that was rolled back here, and clears that mark", async () => {
    const qualities: Record<string, Quality> = { "1.1.0": "crashes" };
    const host = new MemoryHost({ answer: wants("1.1.0"), qualities });
    await tick(host);
    qualities["1.1.0"] = "good";
    host.seconds = 5000;
    expect(await tick(host, { forced: true })).toMatchObject({ reason: "upgraded" });
    expect(host.found.skip).toEqual([]);
  });

  test("tries a version again that refused the configuration, once for each change of it", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0"), qualities: { "1.1.0": "choosy" } });
    host.config = "wrong";
    const until = "it is tried again once /etc/platform.yaml is changed";
    expect(await tick(host)).toMatchObject({ reason: "rolled_back", detail: expect.stringContaining(until) });
    expect([host.installed, host.running]).toEqual(["1.0.0", "1.0.0"]);
    for (let run = 0; run < 3; run += 1) expect(await tick(host)).toMatchObject({ reason: "known_bad", detail: expect.stringContaining(until) });
    host.config = "wrong in another way";
    expect(await tick(host)).toMatchObject({ reason: "rolled_back" });
    expect(await tick(host)).toMatchObject({ reason: "known_bad" });
    expect(host.packages.agentInstalls).toEqual(["1.1.0", "1.0.0", "1.1.0", "1.0.0"]);
    host.config = "right";
    expect(await tick(host)).toMatchObject({ reason: "upgraded" });
    expect(host.found).toMatchObject({ current: "1.1.0", skip: [] });
  });

  test("waits for the maintenance window with a version whose configuration was corrected", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0"), qualities: { "1.1.0": "choosy" } });
    host.config = "wrong";
    await tick(host);
    host.config = "right";
    host.seconds = 5000;
    expect(await tick(host)).toMatchObject({ reason: "outside_window" });
    host.seconds = 90_500;
    expect(await tick(host)).toMatchObject({ reason: "upgraded" });
  });

  test("notices a correction that was made while the version was being rolled back", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0"), qualities: { "1.1.0": "choosy" } });
    host.config = "wrong";
    const world = host.world();
    const watch: typeof world.service.watch = async (options) => {
      const result = await world.service.watch(options);
      host.config = "right";
      return result;
    };
    expect(await runTick({ ...world, service: { ...world.service, watch } }, { forced: false })).toMatchObject({ reason: "rolled_back" });
    expect(await tick(host)).toMatchObject({ reason: "upgraded" });
  });

  test("tries it again also where systemd itself started it with the configuration, after a power cut", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0"), qualities: { "1.1.0": "choosy" } });
    for (let killAfter = 1; host.packages.disk.get("platform-ent") === "1.0.0"; killAfter += 1) await tick(host, { killAfter });
    host.config = "wrong";
    host.reboot();
    expect(host.running).toBeUndefined();
    const until = "it is tried again once /etc/platform.yaml is changed";
    expect(await tick(host)).toMatchObject({ reason: "rolled_back", detail: expect.stringContaining(until) });
    expect([host.installed, host.running]).toEqual(["1.0.0", "1.0.0"]);
    expect(await tick(host)).toMatchObject({ reason: "known_bad" });
    host.config = "right";
    expect(await tick(host)).toMatchObject({ reason: "upgraded" });
  });

  test("skips it for good where the running agent is too old to name the error", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0"), qualities: { "1.1.0": "choosy" } });
    host.agent.isTaciturn = true;
    host.config = "wrong";
    expect(await tick(host)).toMatchObject({ reason: "rolled_back" });
    host.config = "right";
    expect(await tick(host)).toMatchObject({ reason: "known_bad", detail: expect.not.stringContaining("tried again") });
  });

  test("leaves the process alone where the version before refuses the configuration too", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0"), qualities: { "1.0.0": "choosy", "1.1.0": "mute" } });
    const world = host.world();
    // Edited while the upgrade is under way.
    const reload = async (): Promise<void> => {
      await world.service.reload();
      host.config = "wrong";
    };
    expect(await runTick({ ...world, service: { ...world.service, reload } }, { forced: false })).toMatchObject({
      reason: "rolled_back",
      detail: expect.stringContaining("1.0.0 is not well either"),
    });
    expect([host.installed, host.running]).toEqual(["1.0.0", "1.1.0"]);
    expect(host.log).not.toContain("restart");
    expect(await tick(host)).toMatchObject({ reason: "known_bad" });
  });

  test("does not mistake a network failure for a bad version", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0"), cutAtReload: true });
    expect(await tick(host)).toMatchObject({ reason: "endpoint_unreachable" });
    expect(host.found.upgrade).toMatchObject({ phase: "watching" });
    host.seconds = 9000;
    expect(await tick(host)).toMatchObject({ reason: "endpoint_unreachable" });
    host.networkUp = true;
    expect(await tick(host)).toMatchObject({ reason: "upgraded" });
    expect(host.found.upgrade).toBeUndefined();
    expect(host.packages.agentInstalls).toEqual(["1.1.0"]);
  });

  test("rolls back once the network is back and the version still has no tunnel", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0"), qualities: { "1.1.0": "mute" }, cutAtReload: true });
    await tick(host);
    expect(host.installed).toBe("1.1.0");
    host.networkUp = true;
    expect(await tick(host)).toMatchObject({ reason: "rolled_back" });
    expect(host.running).toBe("1.0.0");
  });

  test("waits for a network that stays down only for a limited time", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0"), cutAtReload: true });
    await tick(host);
    let runs = 0;
    while (host.found.upgrade !== undefined && runs < 1000) {
      await tick(host);
      runs += 1;
    }
    expect(runs).toBe(145);
    expect(host.found).toMatchObject({ reason: "upgraded", current: "1.1.0" });
  });

  test("blames no version whose predecessor has the same fault", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0"), qualities: {} });
    const world = host.world();
    const { reload } = world.service;
    // The tunnel's port is closed from the reload on, the endpoint's is not.
    const watch = async () => ({ healthy: false, why: "its tunnel is missing", fault: "tunnel", refusesConfiguration: false }) as const;
    expect(await runTick({ ...world, service: { ...world.service, reload, watch } }, { forced: false })).toMatchObject({ reason: "rolled_back" });
    expect(host.found.skip).toEqual([]);
  });

  test("leaves a process alone that has refused its successor", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0"), qualities: { "1.1.0": "refused" } });
    await tick(host);
    expect(host.log.filter((line) => line === "reload" || line === "restart")).toEqual(["reload"]);
  });

  test("restarts the agent when a reload does not restore the previous version", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0"), qualities: { "1.1.0": "mute" } });
    host.state = JSON.stringify({ upgrade: { phase: "watching", from: "1.0.0", to: "1.1.0", started: "", boot: "", before: "ready", tries: 1 } });
    host.packages.disk.set("platform-ent", "1.1.0");
    host.agent.running = "1.1.0";
    host.agent.reloadError = new UpgradeError("restart_needed", "no");
    expect(await tick(host)).toMatchObject({ reason: "rolled_back" });
    expect(host.log).toContain("restart");
    expect(host.running).toBe("1.0.0");
    expect(host.found.skip).toHaveLength(1);
  });

  test("rolls back an installation that can never be completed", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0"), half: { looksLike: "to", healsTo: "from" } });
    for (let killAfter = 1; !host.packages.halfDone && killAfter < 20; killAfter += 1) await tick(host, { killAfter });
    host.packages.healError = new UpgradeError("package_manager_failed", "its script fails");
    expect(await tick(host)).toMatchObject({ reason: "package_manager_failed" });
    expect(await tick(host)).toMatchObject({ reason: "package_manager_failed" });
    expect(await tick(host)).toMatchObject({ reason: "rollback_failed" });
    host.packages.healError = undefined;
    expect(await tick(host)).toMatchObject({ reason: "rolled_back" });
    expect(host.found).toMatchObject({ current: "1.0.0", skip: [{ version: "1.1.0", why: "its script fails" }] });
  });
});
