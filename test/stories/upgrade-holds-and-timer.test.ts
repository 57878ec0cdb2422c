import { beforeEach, expect, test } from "vitest";
import { eachOf } from "../world/each-of.ts";
import { machinesSkip } from "../world/machine-skip.ts";
import { packageLockHolders } from "../world/package-lock-holders.ts";
import { packagedVersions as versions } from "../world/package-world.ts";
import type { Service } from "../world/service.ts";
import { until } from "../world/until.ts";
import type { UpgradeHost } from "../world/upgrade-host.ts";
import { openUpgradeSite } from "../world/upgrade-site.ts";

/** The updater beside an admin, the jobs of a distribution, and other users of the package manager; its timer. Most of it is waiting: all at once. */

beforeEach(({ skip }) => skip(machinesSkip !== undefined, machinesSkip));

const managers = ["apt", "dnf", "zypper"] as const;
type Manager = (typeof managers)[number];

const holds: Readonly<Record<Manager, { readonly set: string; readonly lift: string; readonly said: RegExp }>> = {
  apt: { set: "apt-mark hold platform-ent", lift: "apt-mark unhold platform-ent", said: /apt-mark unhold/ },
  dnf: { set: "dnf -C versionlock add platform-ent", lift: "dnf -C versionlock clear", said: /versionlock delete/ },
  zypper: { set: "zypper -n addlock platform-ent", lift: "zypper -n removelock platform-ent", said: /removelock/ },
};

/** Runs what else moves packages and restarts services on such a host; the agent stays the process and version that it is. */
async function othersAtWork(host: UpgradeHost, commands: readonly string[]): Promise<void> {
  const before = [await host.mainPid(), await host.version()];
  for (const command of commands) {
    const done = await host.machine.run(["sh", "-c", command], { limitMs: 120_000 });
    expect({ command, status: done.status, said: done.stderr }).toMatchObject({ status: 0 });
    expect([await host.mainPid(), await host.version()], `${command}\n${done.stdout}`).toEqual(before);
  }
}

async function heldByAdmin(host: UpgradeHost, { set, lift, said }: (typeof holds)[Manager]): Promise<void> {
  const pid = await host.mainPid();
  await host.machine.output(["sh", "-c", set]);
  for (const [command, status] of [
    ["run", 0],
    ["force", 1],
  ] as const) {
    const done = await host.upgrade(command);
    expect({ status: done.status, said: done.stdout }).toEqual({ status, said: expect.stringContaining("reason=held_by_admin ") });
    expect((await host.state()).detail).toMatch(said);
  }
  await host.reported("held_by_admin");
  expect([await host.version(), await host.mainPid()]).toEqual([versions.now, pid]);
  await host.machine.output(["sh", "-c", lift]);
}

/** Another program has the package manager: a run waits a minute, a second run beside it ends at once. */
async function busy(host: UpgradeHost, locker: string): Promise<void> {
  const holder: Service = host.machine.service(["sh", "-c", locker]);
  await until("the package manager is locked", () => holder.printed().includes("locked"));
  const first = host.machine.service(["sh", "-c", 'platform-upgrade run; echo "status=$?"']);
  await until("a run waits", () => first.printed().includes("holds the package manager: waiting"), 60_000);
  const second = await host.upgrade("run");
  expect({ status: second.status, said: second.stdout }).toEqual({ status: 0, said: expect.stringContaining("reason=already_running ") });
  await until("it waits no longer", () => first.printed().includes("status="), 200_000);
  expect(first.printed()).toContain("status=1\n");
  expect(first.printed()).toContain("reason=package_manager_busy ");
  await host.reported("package_manager_busy");
  expect(await host.version()).toBe(versions.now);
  await holder.stop();
  await host.machine.output(["rm", "-f", "/run/zypp.pid"]);
}

test.concurrent("an admin's hold, another's lock, unattended-upgrades and needrestart: respected, reported, and no obstacle to what is due", {
  timeout: 400_000,
}, async () => {
  await using site = await openUpgradeSite();
  await using stack = new AsyncDisposableStack();
  const packages = ["unattended-upgrades", "needrestart"];
  const made = await site.hosts(managers.map((manager) => (manager === "apt" ? { manager, packages } : { manager })));
  const hosts = made.map((host, index) => ({ host: stack.use(host), manager: managers[index] ?? "apt" }));
  await eachOf(hosts, async ({ manager, host }) => {
    await host.follow("critical/next");
    await heldByAdmin(host, holds[manager]);
    await busy(host, packageLockHolders[manager]);
    if (manager === "apt") await host.machine.write("/etc/apt/apt.conf.d/52all", 'Unattended-Upgrade::Origins-Pattern { "origin=*"; "site=*"; };\n');
    const stray = manager === "apt" ? ["apt-get update", "unattended-upgrade -v"] : manager === "dnf" ? ["dnf -y upgrade"] : ["zypper -n update"];
    await othersAtWork(host, stray);
    expect(await host.tick()).toMatchObject({ reason: "upgraded", current: versions.next });
    await host.connected(versions.next);
  });

  // By hand the executable is replaced under the running agent: what needrestart looks for.
  const { host } = hosts[0] ?? {};
  if (host === undefined) throw new Error("no host");
  const pid = await host.mainPid();
  const ours = ["-o", "Dir::Etc::sourcelist=/etc/apt/platform.list", "-o", "Dir::State::Lists=/var/lib/platform-upgrade/lists"];
  await host.machine.output(["apt-get", ...ours, "-qqy", "--allow-downgrades", "install", `platform-ent=${versions.now}`], { limitMs: 120_000 });
  const found = await host.machine.output(["needrestart", "-b", "-r", "l"]);
  expect(found, "it sees that the agent runs what is no longer there").toContain("platform.service");
  await host.machine.output(["needrestart", "-r", "a"]);
  expect(await host.mainPid()).toBe(pid);
  await host.machine.systemctl("reload", "platform");
  await host.connected(versions.now);
});

/** An empty line of any kind drops the times of all kinds. */
const soon = "OnActiveSec=\nOnBootSec=\nOnActiveSec=2s\nOnBootSec=2s\nRandomizedDelaySec=0\nAccuracySec=1ms\n";

test.concurrent("the timer runs the updater by itself, with nobody there; switched off it does not, after a reboot neither", {
  timeout: 200_000,
}, async () => {
  await using site = await openUpgradeSite();
  await using host = await site.host();
  const { machine } = host;
  const timer = async (property: string): Promise<string> =>
    (await machine.systemctl("show", `--property=${property}`, "--value", "platform-upgrade.timer")).trim();

  await machine.systemctl("disable", "--now", "platform-upgrade.timer");
  await machine.write("/etc/systemd/system/platform-upgrade.timer.d/test.conf", `[Timer]\n${soon}OnUnitActiveSec=1h\n`);
  // Another timer of the same times, to know when ours had its chance.
  await machine.write("/etc/systemd/system/chance.timer", `[Timer]\n${soon}[Install]\nWantedBy=timers.target\n`);
  await machine.write("/etc/systemd/system/chance.service", "[Service]\nType=oneshot\nExecStart=/usr/bin/touch /run/chance\n");
  await machine.systemctl("daemon-reload");
  await machine.systemctl("enable", "chance.timer");
  await host.follow("critical/next");
  await machine.powerCut();
  await machine.start();
  await until("its time is over", async () => (await machine.run(["test", "-e", "/run/chance"])).status === 0);
  await host.connected();
  expect([await timer("ActiveState"), await timer("NextElapseUSecMonotonic"), (await host.state()).reason]).toEqual([
    "inactive",
    "infinity",
    "never_ran",
  ]);

  await machine.systemctl("enable", "--now", "platform-upgrade.timer");
  await until("the timer has run the updater", async () => (await host.state()).reason === "upgraded", 90_000);
  await host.connected(versions.next);
  await until("its next run is set", async () => /^\d/.test(await timer("NextElapseUSecMonotonic")));

  await host.follow("critical/now");
  await machine.powerCut();
  await machine.start();
  await until("it runs after a boot too", async () => (await host.state()).current === versions.now, 90_000);
  await host.connected(versions.now);
});
