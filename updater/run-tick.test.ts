import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { EndpointAnswer } from "./endpoint-answer.ts";
import { runTick } from "./run-tick.ts";
import { type Half, MemoryHost, type Quality } from "./testing/memory-host.ts";
import type { Ending } from "./tick.ts";
import { UpgradeError } from "./upgrade-error.ts";

const wants = (version: string, more: object = {}): EndpointAnswer => ({ kind: "version", version, critical: false, ...more });
const agentInstalls = (host: MemoryHost): string[] => host.installs.filter(({ name }) => name === "platform-ent").map(({ version }) => version);

/** One run; undefined: it was killed. */
async function tick(host: MemoryHost, { forced = false, killAfter = Number.POSITIVE_INFINITY } = {}): Promise<Ending | undefined> {
  const ending = await runTick(host.world(killAfter), { forced }).catch((thrown: unknown) => {
    if (!host.killed) throw thrown;
  });
  return host.killed ? undefined : (ending ?? undefined);
}

describe("a run", () => {
  test("upgrades in the window, reloads, takes the updater along, and the next run rests", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0") });
    expect(await tick(host)).toMatchObject({ reason: "upgraded" });
    expect(host.installed).toBe("1.1.0");
    expect(host.running).toBe("1.1.0");
    expect(host.disk.get("platform-ent-updater")).toBe("1.1.0");
    expect(host.found).toMatchObject({ reason: "upgraded", current: "1.1.0", target: "1.1.0", host_id: "host-1", channel: "default", skip: [] });
    host.updater = "1.1.0";
    const before = host.log.length;
    expect(await tick(host)).toMatchObject({ reason: "up_to_date" });
    expect(host.log.slice(before)).toEqual(["no upgrades available (1.1.0 == 1.1.0)", "write"]);
  });

  test("goes back to an older version when the cluster wants it", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0") });
    await tick(host);
    host.updater = "1.1.0";
    host.answer = wants("1.0.0");
    expect(await tick(host)).toMatchObject({ reason: "upgraded", detail: "from 1.1.0 to 1.0.0" });
    expect([host.running, host.disk.get("platform-ent-updater")]).toEqual(["1.0.0", "1.0.0"]);
  });

  test("keeps the package before, then writes its intent, then installs, then reloads", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0") });
    await tick(host);
    const effects = host.log.filter((line) => /^(keep|write|install|reload$)/.test(line));
    expect(effects.slice(0, 5)).toEqual(["keep platform-ent 1.0.0", "write", "install platform-ent 1.1.0", "write", "reload"]);
  });

  test.for<[Quality, string]>([
    ["crashes", "the process keeps failing"],
    ["dies", "the process keeps failing"],
    ["mute", "its tunnel is missing"],
    ["refused", "the process before has kept its place"],
  ])("takes back a version that %s, skips it, and takes the next one", async ([quality, why]) => {
    const host = new MemoryHost({ answer: wants("1.1.0"), qualities: { "1.1.0": quality } });
    expect(await tick(host)).toMatchObject({ reason: "rolled_back", detail: expect.stringContaining(why) });
    expect([host.installed, host.running]).toEqual(["1.0.0", "1.0.0"]);
    expect(host.found.skip).toMatchObject([{ version: "1.1.0", why }]);
    expect(await tick(host)).toMatchObject({ reason: "known_bad" });
    expect(agentInstalls(host)).toEqual(["1.1.0", "1.0.0"]);
    host.answer = wants("1.2.0");
    expect(await tick(host)).toMatchObject({ reason: "upgraded" });
    expect(host.running).toBe("1.2.0");
  });

  test("forced takes a version that was rolled back here, and forgets that it was", async () => {
    const qualities: Record<string, Quality> = { "1.1.0": "crashes" };
    const host = new MemoryHost({ answer: wants("1.1.0"), qualities });
    await tick(host);
    qualities["1.1.0"] = "good";
    host.seconds = 5000;
    expect(await tick(host, { forced: true })).toMatchObject({ reason: "upgraded" });
    expect(host.found.skip).toEqual([]);
  });

  test("does not take a network that went down for a bad version", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0"), cutAtReload: true });
    expect(await tick(host)).toMatchObject({ reason: "endpoint_unreachable" });
    expect(host.found.upgrade).toMatchObject({ phase: "watching" });
    host.seconds = 9000;
    expect(await tick(host)).toMatchObject({ reason: "endpoint_unreachable" });
    host.networkUp = true;
    expect(await tick(host)).toMatchObject({ reason: "upgraded" });
    expect(host.found.upgrade).toBeUndefined();
    expect(agentInstalls(host)).toEqual(["1.1.0"]);
  });

  test("rolls back once the network is back and the version still has no tunnel", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0"), qualities: { "1.1.0": "mute" }, cutAtReload: true });
    await tick(host);
    expect(host.installed).toBe("1.1.0");
    host.networkUp = true;
    expect(await tick(host)).toMatchObject({ reason: "rolled_back" });
    expect(host.running).toBe("1.0.0");
  });

  test("waits for a network that stays down only so long", async () => {
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
    const watch = async () => ({ healthy: false, why: "its tunnel is missing", fault: "tunnel" }) as const;
    expect(await runTick({ ...world, service: { ...world.service, reload, watch } }, { forced: false })).toMatchObject({ reason: "rolled_back" });
    expect(host.found.skip).toEqual([]);
  });

  test("of an agent that does not run installs the package and starts nothing", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0"), running: false });
    expect(await tick(host)).toMatchObject({ reason: "upgraded" });
    expect(host.installed).toBe("1.1.0");
    expect(host.log).not.toContain("reload");
    expect(host.running).toBeUndefined();
  });

  test.for(["repository_unreachable", "signature_wrong", "package_manager_busy"] as const)(
    "that cannot refresh ends with %s and changes nothing",
    async (reason) => {
      const host = new MemoryHost({ answer: wants("1.1.0") });
      host.refreshError = new UpgradeError(reason, "no");
      expect(await tick(host)).toMatchObject({ reason, detail: "no" });
      expect(host.installs).toEqual([]);
      expect(host.found.upgrade).toBeUndefined();
    },
  );

  test("that cannot find out who holds the package asks once, and changes nothing", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0") });
    host.holdError = new UpgradeError("package_manager_busy", "zypper runs");
    expect(await tick(host)).toMatchObject({ reason: "package_manager_busy", detail: "zypper runs" });
    expect([host.holdQuestions, host.installs]).toEqual([["platform-ent"], []]);
  });

  test("whose package is not in the repository says so", async () => {
    const host = new MemoryHost({ answer: wants("1.3.0") });
    expect(await tick(host)).toMatchObject({ reason: "package_missing" });
    expect(host.installs).toEqual([]);
  });

  test("whose installation fails ends with its reason; the version before stays", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0") });
    host.installError = new UpgradeError("no_space", "no room");
    expect(await tick(host)).toMatchObject({ reason: "no_space" });
    expect(host.found.upgrade).toBeUndefined();
    expect(host.running).toBe("1.0.0");
  });

  test("whose disk is too full changes nothing", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0") });
    host.shortage = "/var has 1 MB";
    expect(await tick(host)).toMatchObject({ reason: "no_space", detail: "/var has 1 MB" });
    expect(host.installs).toEqual([]);
  });

  test("does not believe a package manager that says it is done", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0") });
    host.lies = true;
    expect(await tick(host)).toMatchObject({ reason: "package_manager_failed", detail: expect.stringContaining("platform-ent is 1.0.0") });
    expect(host.found.upgrade).toBeUndefined();
    expect(host.log).not.toContain("reload");
  });

  test("leaves a process alone that has refused its successor", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0"), qualities: { "1.1.0": "refused" } });
    await tick(host);
    expect(host.log.filter((line) => line === "reload" || line === "restart")).toEqual(["reload"]);
  });

  test("says three times that the process cannot be replaced, and then that it waits for a restart", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0") });
    host.reloadError = new UpgradeError("restart_needed", "systemctl fails");
    for (let run = 1; run <= 5; run += 1) {
      expect(await tick(host)).toMatchObject({ reason: "restart_needed" });
      expect(host.found.upgrade === undefined).toBe(run >= 3);
    }
    expect(agentInstalls(host)).toEqual(["1.1.0"]);
    host.running = "1.1.0";
    expect(await tick(host)).toMatchObject({ reason: "up_to_date" });
  });

  test("restarts the agent when the version before does not come back by a reload", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0"), qualities: { "1.1.0": "mute" } });
    host.state = JSON.stringify({ upgrade: { phase: "watching", from: "1.0.0", to: "1.1.0", started: "", boot: "", before: "ready", tries: 1 } });
    host.disk.set("platform-ent", "1.1.0");
    host.running = "1.1.0";
    host.reloadError = new UpgradeError("restart_needed", "no");
    expect(await tick(host)).toMatchObject({ reason: "rolled_back" });
    expect(host.log).toContain("restart");
    expect(host.running).toBe("1.0.0");
    expect(host.found.skip).toHaveLength(1);
  });

  test("waits for whoever holds the package manager, in the middle of an upgrade too", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0") });
    await tick(host, { killAfter: 4 });
    expect(host.found.upgrade?.phase).toBe("installing");
    host.healError = new UpgradeError("package_manager_busy", "apt-get (pid 7) holds it");
    for (let run = 0; run < 5; run += 1) expect(await tick(host)).toMatchObject({ reason: "package_manager_busy" });
    expect(host.found.upgrade?.phase).toBe("installing");
    host.healError = undefined;
    expect(await tick(host)).toMatchObject({ reason: "healed" });
    expect(host.running).toBe("1.1.0");
  });

  test("takes back what can never be completed", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0"), half: { looksLike: "to", healsTo: "from" } });
    for (let killAfter = 1; !host.halfDone && killAfter < 20; killAfter += 1) await tick(host, { killAfter });
    host.healError = new UpgradeError("package_manager_failed", "its script fails");
    expect(await tick(host)).toMatchObject({ reason: "package_manager_failed" });
    expect(await tick(host)).toMatchObject({ reason: "package_manager_failed" });
    expect(await tick(host)).toMatchObject({ reason: "rollback_failed" });
    host.healError = undefined;
    expect(await tick(host)).toMatchObject({ reason: "rolled_back" });
    expect(host.found).toMatchObject({ current: "1.0.0", skip: [{ version: "1.1.0", why: "its script fails" }] });
  });

  test("that cannot keep its state begins nothing", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0") });
    const write = async (): Promise<void> => {
      throw new UpgradeError("no_space", "the disk is full");
    };
    const world = host.world();
    expect(await runTick({ ...world, store: { ...world.store, write } }, { forced: false })).toMatchObject({ reason: "no_space" });
    expect(host.installs).toEqual([]);
  });

  test("that is stopped leaves the state as it is, for the next one", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0") });
    const stop = new AbortController();
    const world = host.world();
    const reload = async (): Promise<void> => stop.abort(new Error("stopped by SIGTERM"));
    const run = runTick({ ...world, service: { ...world.service, reload }, signal: stop.signal }, { forced: false });
    await expect(run).rejects.toThrow("stopped by SIGTERM");
    expect(host.found.upgrade).toMatchObject({ phase: "watching" });
    expect(await tick(host)).toMatchObject({ reason: "upgraded" });
  });

  test("with another major first brings the updater, the next run the agent", async () => {
    const host = new MemoryHost({ answer: wants("2.0.0") });
    expect(await tick(host)).toMatchObject({ reason: "major_mismatch" });
    expect([host.installed, host.disk.get("platform-ent-updater")]).toEqual(["1.0.0", "2.0.0"]);
    host.updater = "2.0.0";
    expect(await tick(host)).toMatchObject({ reason: "upgraded" });
    expect(host.running).toBe("2.0.0");
  });

  test("puts an updater back that does not run", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0") });
    host.brokenUpdater = "1.1.0";
    expect(await tick(host)).toMatchObject({ reason: "upgraded", detail: expect.stringContaining("does not run") });
    expect(host.disk.get("platform-ent-updater")).toBe("1.0.0");
    expect(host.running).toBe("1.1.0");
    expect(await tick(host)).toMatchObject({ reason: "up_to_date", detail: expect.stringMatching(/its updater was taken back .*: it does not run/) });
    const updaters = (): string[] => host.installs.filter(({ name }) => name === "platform-ent-updater").map(({ version }) => version);
    expect(updaters()).toEqual(["1.1.0", "1.0.0"]);
    host.brokenUpdater = undefined;
    expect(await tick(host, { forced: true })).toMatchObject({ reason: "up_to_date" });
    expect([updaters().slice(2), host.found.skip_updater]).toEqual([["1.1.0"], undefined]);
  });

  test("with a damaged state looks for an interrupted installation first", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0"), half: { looksLike: "none", healsTo: "to" } });
    for (let killAfter = 1; !host.halfDone && killAfter < 20; killAfter += 1) await tick(host, { killAfter });
    expect(host.halfDone).toBe(true);
    host.state = host.state.slice(0, 40);
    await tick(host);
    expect(host.halfDone).toBe(false);
    expect(host.installed).toBe("1.1.0");
  });

  test("never lets go of what force cannot lift either: the admin's hold", async () => {
    const host = new MemoryHost({ answer: wants("1.1.0", { critical: true }) });
    host.hold = "apt-mark hold is set on platform-ent";
    expect(await tick(host, { forced: true })).toMatchObject({ reason: "held_by_admin" });
    expect(host.installs).toEqual([]);
  });
});

const halves: Half[] = (["from", "to", "none", "unreadable"] as const).flatMap((looksLike) =>
  (["from", "to"] as const).map((healsTo) => ({ looksLike, healsTo })),
);
const qualities: Quality[] = ["good", "crashes", "dies", "mute", "refused"];
const cases = qualities.flatMap((quality) => halves.map((half) => [quality, half] as const));

/** Runs until one is not killed, then some more; `kills`: the effect at which each of the first runs dies. */
async function survive(host: MemoryHost, kills: readonly number[], between: (host: MemoryHost) => void): Promise<boolean> {
  let killed = false;
  for (const killAfter of kills) {
    killed = (await tick(host, { killAfter })) === undefined;
    between(host);
  }
  for (let run = 0; run < 4; run += 1) await tick(host);
  return killed;
}

function expectSound(host: MemoryHost, quality: Quality): void {
  const { installed, running, found } = host;
  expect(host.halfDone).toBe(false);
  expect(found.upgrade).toBeUndefined();
  // What could not take over from a running process may well run after a boot.
  const may = quality === "good" || (quality === "refused" && host.booted);
  expect(["1.0.0", ...(may ? ["1.1.0"] : [])]).toContain(installed);
  expect(running).toBe(installed);
  expect(["up_to_date", "known_bad", "outside_window", "healed", "upgraded"]).toContain(found.reason);
}

describe("a run that is killed", () => {
  test.for(cases)("at any effect of an upgrade to a version that is %s (%o) is ended well by the next", async ([quality, half]) => {
    let kills = 0;
    for (let killAfter = 1; killAfter < 200; killAfter += 1) {
      const host = new MemoryHost({ answer: wants("1.1.0"), qualities: { "1.1.0": quality }, half });
      if (!(await survive(host, [killAfter], () => {}))) break;
      kills += 1;
      expectSound(host, quality);
      expect(host.installed).toBe(quality === "good" ? "1.1.0" : "1.0.0");
      expect(host.installs.every(({ inWindow }) => inWindow)).toBe(true);
    }
    expect(kills).toBeGreaterThan(10);
  });

  test.for(cases)("with a power cut, outside of the window: %s (%o)", async ([quality, half]) => {
    for (let killAfter = 1; killAfter < 60; killAfter += 1) {
      const host = new MemoryHost({ answer: wants("1.1.0"), qualities: { "1.1.0": quality }, half });
      const killed = await survive(host, [killAfter], () => {
        host.reboot();
        host.seconds = 5000;
      });
      if (!killed) break;
      expectSound(host, quality);
      // Outside of the window nothing is installed but the way back.
      expect(host.installs.filter(({ inWindow, version }) => !inWindow && version !== "1.0.0")).toEqual([]);
    }
  });

  test("again and again, anywhere, is ended well by the runs that follow", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...cases),
        fc.array(fc.tuple(fc.integer({ min: 1, max: 30 }), fc.boolean()), { minLength: 1, maxLength: 6 }),
        async ([quality, half], deaths) => {
          const host = new MemoryHost({ answer: wants("1.1.0"), qualities: { "1.1.0": quality }, half });
          for (const [killAfter, cut] of deaths) {
            await tick(host, { killAfter });
            if (cut) host.reboot();
          }
          for (let run = 0; run < 5; run += 1) await tick(host);
          expectSound(host, quality);
        },
      ),
    );
  });
});
