import { describe, expect, test } from "vitest";
import { wants } from "../testing/facts.ts";
import { MemoryHost } from "../testing/memory-host.ts";
import { tick } from "../testing/tick.ts";
import { runTick } from "./run-tick.ts";
import { UpgradeError } from "./upgrade-error.ts";

describe("a run", () => {
  test.for(["repository_unreachable", "signature_wrong", "package_manager_busy"] as const)(
    "that cannot refresh ends with %s and changes nothing",
    async (reason) => {
      const host = new MemoryHost({ answer: wants("1.1.0") });
      host.packages.refreshError = new UpgradeError(reason, "no");
      expect(await tick(host)).toMatchObject({ reason, detail: "no" });
      expect(host.packages.installs).toEqual([]);
      expect(host.found.upgrade).toBeUndefined();
    },
  );

  test("whose previous package cannot be kept installs nothing, unless an admin forces it", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0") });
    host.packages.keepError = new UpgradeError("no_way_back", "1.0.0 could not be kept");
    expect(await tick(host)).toEqual({ reason: "no_way_back", detail: "1.0.0 could not be kept" });
    expect([host.packages.installs, host.found.upgrade]).toEqual([[], undefined]);
    expect(await runTick(host.world(), { forced: true })).toMatchObject({ reason: "upgraded" });
    expect(host.installed).toBe("1.1.0");
  });

  test("that cannot query the hold of the package asks once, and changes nothing", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0") });
    host.packages.holdError = new UpgradeError("package_manager_busy", "zypper runs");
    expect(await tick(host)).toMatchObject({ reason: "package_manager_busy", detail: "zypper runs" });
    expect([host.packages.holdQuestions, host.packages.installs]).toEqual([["platform-ent"], []]);
  });

  test("whose package is not in the repository reports it", async () => {
    const host = new MemoryHost({ answer: wants("1.3.0") });
    expect(await tick(host)).toMatchObject({ reason: "package_missing" });
    expect(host.packages.installs).toEqual([]);
  });

  test("whose installation fails ends with its reason; the previous version stays", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0") });
    host.packages.installError = new UpgradeError("no_space", "no room");
    expect(await tick(host)).toMatchObject({ reason: "no_space" });
    expect(host.found.upgrade).toBeUndefined();
    expect(host.running).toBe("1.0.0");
  });

  test("whose disk is too full changes nothing", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0") });
    host.packages.shortage = "/var has 1 MB";
    expect(await tick(host)).toMatchObject({ reason: "no_space", detail: "/var has 1 MB" });
    expect(host.packages.installs).toEqual([]);
  });

  test("does not trust a package manager's report of success", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0") });
    host.packages.lies = true;
    expect(await tick(host)).toMatchObject({ reason: "package_manager_failed", detail: expect.stringContaining("platform-ent is 1.0.0") });
    expect(host.found.upgrade).toBeUndefined();
    expect(host.log).not.toContain("reload");
  });

  test("reports three times that the process cannot be replaced, and then that it waits for a restart", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0") });
    host.agent.reloadError = new UpgradeError("restart_needed", "systemctl fails");
    for (let run = 1; run <= 5; run += 1) {
      expect(await tick(host)).toMatchObject({ reason: "restart_needed" });
      expect(host.found.upgrade === undefined).toBe(run >= 3);
    }
    expect(host.packages.agentInstalls).toEqual(["1.1.0"]);
    host.agent.running = "1.1.0";
    expect(await tick(host)).toMatchObject({ reason: "up_to_date" });
  });

  test("waits for the program that holds the package manager, also in the middle of an upgrade", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0") });
    await tick(host, { killAfter: 4 });
    expect(host.found.upgrade?.phase).toBe("installing");
    host.packages.healError = new UpgradeError("package_manager_busy", "apt-get (pid 7) holds it");
    for (let run = 0; run < 5; run += 1) expect(await tick(host)).toMatchObject({ reason: "package_manager_busy" });
    expect(host.found.upgrade?.phase).toBe("installing");
    host.packages.healError = undefined;
    expect(await tick(host)).toMatchObject({ reason: "healed" });
    expect(host.running).toBe("1.1.0");
  });

  test("that cannot store its state does not begin anything", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0") });
    const write = async (): Promise<void> => {
      throw new UpgradeError("no_space", "the disk is full");
    };
    const world = host.world();
    expect(await runTick({ ...world, store: { ...world.store, write } }, { forced: false })).toMatchObject({ reason: "no_space" });
    expect(host.packages.installs).toEqual([]);
  });

  test("with a damaged state checks for an interrupted installation first", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0"), half: { looksLike: "none", healsTo: "to" } });
    for (let killAfter = 1; !host.packages.halfDone && killAfter < 20; killAfter += 1) await tick(host, { killAfter });
    expect(host.packages.halfDone).toBe(true);
    host.state = host.state.slice(0, 40);
    await tick(host);
    expect(host.packages.halfDone).toBe(false);
    expect(host.installed).toBe("1.1.0");
  });

  test("respects the admin's hold, which force cannot lift either", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0", { critical: true }) });
    host.packages.hold = "apt-mark hold is set on platform-ent";
    expect(await tick(host, { forced: true })).toMatchObject({ reason: "held_by_admin" });
    expect(host.packages.installs).toEqual([]);
  });
});
