import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { machineFixture } from "../world/machine-fixture.ts";
import { setWindow } from "../world/maintenance-window.ts";
import { packagedVersions as versions } from "../world/package-world.ts";
import { rows } from "../world/rounds.ts";
import { allWell, startLoad } from "../world/session-load.ts";
import { until } from "../world/until.ts";
import type { UpgradeHost } from "../world/upgrade-host.ts";
import { openUpgradeSite } from "../world/upgrade-site.ts";

const site = machineFixture(openUpgradeSite);

async function scheduled(host: UpgradeHost, how: "open" | "closed"): Promise<void> {
  await until(
    `the schedule is ${how}`,
    async () => {
      const windows = [...(await host.machine.read("/etc/platform-upgrade.d/schedule")).matchAll(/^(\d+) (\d+)$/gm)];
      const now = Date.now() / 1000;
      const open = windows.some(([, start, stop]) => Number(start) <= now && now < Number(stop));
      return windows.length > 0 && open === (how === "open");
    },
    90_000,
  );
}

const processVersion = async (host: UpgradeHost): Promise<string> => {
  const pid = (await host.machine.systemctl("show", "--property=MainPID", "--value", "platform")).trim();
  const answer = await host.machine.output(["curl", "-sf", "--unix-socket", `/run/platform/status-${pid}.sock`, "http://platform/status"]);
  return (JSON.parse(answer) as { version: string }).version;
};

const editions = { apt: "cloud", dnf: "enterprise", yum: "cloud", zypper: "enterprise" } as const;
const managers = rows(Object.keys(editions) as (keyof typeof editions)[], ["apt", "yum", "zypper"]);

test("enrolled; nothing outside the window, the new version inside it, the one before when the admin wants it back", {
  timeout: 1_200_000,
}, async () => {
  await setWindow(site().cluster, 2);
  await using stack = new AsyncDisposableStack();
  const hosts: UpgradeHost[] = [];
  for (const manager of managers) hosts.push(stack.use(await site().host({ manager, edition: editions[manager] })));
  const each = async (act: (host: UpgradeHost) => Promise<void>): Promise<void> => void (await Promise.all(hosts.map(act)));

  await each(async (host) => {
    await host.reported("never_ran");
    expect((await host.record()).status?.host?.upgrader).toBe("unit");
    await scheduled(host, "closed");
    const dry = await host.upgrade("dry-run");
    expect({ status: dry.status, said: dry.stdout }).toEqual({ status: 0, said: expect.stringContaining(`(${versions.now} == ${versions.now})`) });
    expect(await host.tick()).toMatchObject({ reason: "up_to_date", current: versions.now });
    await host.follow("next");
    expect((await host.upgrade("dry-run")).stdout).toContain(`an upgrade is available (${versions.now} -> ${versions.next})`);
    expect(await host.tick()).toMatchObject({ reason: "outside_window", current: versions.now, target: versions.next });
    await host.reported("outside_window");
    expect(await host.version()).toBe(versions.now);
  });

  await setWindow(site().cluster, 0);
  await each(async (host) => {
    await scheduled(host, "open");
    expect(await host.tick()).toMatchObject({ reason: "upgraded", current: versions.next });
    expect(await processVersion(host)).toBe(versions.next);
    expect(await host.machine.output(["platform-upgrade", "version"])).toContain(versions.next);
    await host.connected(versions.next);
    await host.reported("upgraded");
    const { metadata } = await host.record();
    expect(await site().cluster.admin("audit", "ls", "--event=upgrade.done", "--format=json")).toContain(metadata.name);

    await host.follow("now");
    expect(await host.tick()).toMatchObject({ reason: "upgraded", current: versions.now });
    await host.connected(versions.now);
    expect(await host.tick()).toMatchObject({ reason: "up_to_date" });
  });
});

test("a critical version is installed at once, whatever the window", { timeout: 800_000 }, async () => {
  await setWindow(site().cluster, 2);
  await using host = await site().host();
  await scheduled(host, "closed");
  await host.follow("critical/next");
  const ended = { reason: "upgraded", current: versions.next, signed_at: expect.any(Number) };
  expect(await host.tick()).toMatchObject(ended);
  expect(JSON.parse(await host.machine.output(["platform-upgrade", "status", "--format=json"]))).toMatchObject(ended);
  await host.connected(versions.next);

  // It has seen the auth service's signature: what somebody else has signed, or is too low for the host's admin, is not taken.
  const folder = "/etc/platform-upgrade.d";
  await host.follow("critical/now");
  // A copy: the agent would put its own file right.
  await host.machine.output(["cp", "-r", folder, "/tmp/stranger"]);
  const keys = await host.machine.read(`${folder}/authorities`);
  const strange = keys.replace(/(ssh-ed25519 \S{40})(\S)/g, (_all, before: string, char: string) => `${before}${char === "A" ? "B" : "A"}`);
  await host.machine.write("/tmp/stranger/authorities", strange);
  const refused = await host.machine.run(["platform-upgrade", "run"], { env: { PLATFORM_UPGRADE_CONFIG: "/tmp/stranger" } });
  expect(refused).toMatchObject({ status: 1, stdout: expect.stringMatching(new RegExp(`^reason=not_signed current=${versions.next} `, "m")) });
  await host.machine.write(`${folder}/minimum`, `${versions.next}\n`);
  expect(await host.tick()).toMatchObject({ reason: "below_minimum", current: versions.next });
  const dry = await host.upgrade("dry-run");
  expect({ status: dry.status, said: dry.stdout }).toMatchObject({ status: 1, said: expect.stringMatching(/^reason=below_minimum /m) });
  await host.machine.output(["rm", `${folder}/minimum`]);
  expect((await host.upgrade("dry-run")).stdout).toMatch(
    new RegExp(`^reason=dry_run would=upgraded current=${versions.next} target=${versions.now} `, "m"),
  );
});

test("a timer that the admin switched off stays off, through an upgrade too, and the cluster knows", { timeout: 800_000 }, async () => {
  await using host = await site().host();
  await host.machine.systemctl("enable", "--now", "platform-upgrade.timer");
  await host.machine.systemctl("disable", "--now", "platform-upgrade.timer");
  await host.reported("timer_off");
  await host.follow("critical/next");
  const forced = await host.upgrade("force");
  expect({ status: forced.status, said: forced.stdout + forced.stderr }).toMatchObject({ status: 0 });
  expect(await host.version()).toBe(versions.next);
  await until("the upgrade by hand is audited", async () => (await host.events("upgrade.done")).some(({ reason }) => reason === "upgraded"));
  expect((await host.machine.run(["systemctl", "is-enabled", "platform-upgrade.timer"])).stdout).toBe("disabled\n");
  expect((await host.machine.run(["systemctl", "is-active", "platform-upgrade.timer"])).stdout).toBe("inactive\n");
  await host.machine.powerCut();
  await host.machine.start();
  expect((await host.machine.run(["systemctl", "is-active", "platform-upgrade.timer"])).stdout).toBe("inactive\n");
  await host.machine.systemctl("enable", "--now", "platform-upgrade.timer");
  expect((await host.machine.run(["systemctl", "is-active", "platform-upgrade.timer"])).stdout).toBe("active\n");
  await host.connected();
  await until("the cluster hears of it", async () => (await host.record()).status?.host?.reason !== "timer_off", 90_000);
});

test("people at work notice nothing of an upgrade: a shell, a transfer of 1 GB, OpenSSH, and a new login every second", {
  timeout: 300_000,
}, async () => {
  await using host = await site().host({ manager: "apt" });
  const user = await site().cluster.user("worker");
  const folder = await mkdtemp(join(tmpdir(), "platform-load-"));
  const target = `root@${host.machine.hostname}`;
  await using load = await startLoad(user, { target, folder, bytes: 1_000_000_000, bytesPerSecond: 25_000_000, everyMs: 1_000 });
  await host.follow("critical/next");
  expect(await host.tick()).toMatchObject({ reason: "upgraded", current: versions.next });
  await load.stillThere();
  expect(await load.transferred).toBe(true);
  expect({ ended: await load.finish(), failures: load.logins.failures }).toEqual({ ended: allWell, failures: [] });
  expect(load.logins.waitsMs.length).toBeGreaterThan(10);
  await until("the process from before is gone", async () => {
    const processes = await host.machine.output(["pgrep", "--count", "--full", "platform start"]);
    return processes.trim() === "1";
  });
  await rm(folder, { recursive: true });
});
