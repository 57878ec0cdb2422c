import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { eachOf } from "../world/each-of.ts";
import { expectRunning } from "../world/expect-running.ts";
import { machineFixture } from "../world/machine-fixture.ts";
import { packagedVersions as versions } from "../world/package-world.ts";
import { program } from "../world/program.ts";
import { openRelease, releaseSigns, releaseSkip } from "../world/released-packages.ts";
import { processes } from "../world/reload.ts";
import { replaceExecutable } from "../world/replace-executable.ts";
import { until } from "../world/until.ts";
import type { UpgradeHost } from "../world/upgrade-host.ts";
import { openUpgradeSite } from "../world/upgrade-site.ts";
import { startWork, type WorkOnHost } from "../world/work-on-host.ts";

const release = machineFixture(openRelease, releaseSkip);

/** The host's own updater takes it there. */
async function moves(host: UpgradeHost, version: "now" | "next", life: { readonly handsOver?: boolean } = {}): Promise<void> {
  await host.follow(`critical/${version}`);
  expect(await host.tick()).toMatchObject({ reason: "upgraded", current: versions[version] });
  await host.connected(versions[version]);
  await expectRunning(host.machine, version, life);
  expect(await host.machine.output(["platform-upgrade", "version"])).toContain(versions[version]);
  expect(await host.tick()).toMatchObject({ reason: "up_to_date", current: versions[version] });
  await host.reported("up_to_date");
}

/** Control of the release signs nothing: a host that has seen signatures stays, and its admin decides. */
async function forcedBack(host: UpgradeHost, work: WorkOnHost): Promise<void> {
  await host.follow("critical/now");
  expect(await host.tick()).toMatchObject({ reason: "not_signed", current: versions.next });
  await work.during("an admin forces an agent back", async () => {
    expect((await host.upgrade("force")).stdout).toMatch(/^reason=upgraded /m);
    await host.connected(versions.now);
    await expectRunning(host.machine, "now");
  });
}

const noProcessLeft = ({ machine }: UpgradeHost): Promise<unknown> =>
  until("the processes from before are gone", async () => (await machine.output(["pgrep", "--count", "--full", "platform start"])).trim() === "1");

test("agents of the last release are upgraded by their own updaters under control of either version, and go back; nothing is cut", {
  timeout: 1_500_000,
}, async () => {
  await using stack = new AsyncDisposableStack();
  const { from, repository, dir } = release();
  const [released, today] = [program("platform", from.programs), program("platform")];
  const [path, runtime] = [join(dir, "platform"), join(dir, "runtime")];
  await replaceExecutable(path, released);
  await mkdir(runtime);
  const site = stack.use(await openUpgradeSite({ repository, control: { platform: path, env: { RUNTIME_DIRECTORY: runtime } } }));
  const control = stack.use(await processes(join(site.cluster.dir, "control.pid"), runtime));
  const hosts = (await site.hosts([{ manager: "apt" }, { manager: "dnf" }])) as [UpgradeHost, UpgradeHost];
  for (const host of hosts) stack.use(host);
  const [apt, dnf] = hosts;
  const user = await site.cluster.user("worker", { programs: from.programs });
  const [atApt, atDnf] = [
    stack.use(await startWork(user, `root@${apt.machine.hostname}`, dir)),
    stack.use(await startWork(user, `root@${dnf.machine.hostname}`, dir)),
  ];
  const controlBecomes = async (executable: string): Promise<void> => {
    await replaceExecutable(path, executable);
    await control.reload();
    await eachOf(hosts, (host) => host.connected());
  };
  const signed = (host: UpgradeHost): Promise<unknown> =>
    until(
      "its updater has seen a signature",
      async () => {
        await host.tick();
        return "signed_at" in (await host.state());
      },
      120_000,
    );

  await atApt.during("an agent upgrades under control of the release", () => moves(apt, "next"));
  await atDnf.during("control upgrades above agents of both versions", () => controlBecomes(today));
  await atDnf.during("an agent upgrades under control of today", () => moves(dnf, "next"));
  await eachOf(hosts, async (host) => {
    const inside = await user.tsh(["ssh", `root@${host.machine.hostname}`, "cat /proc/self/cgroup"]);
    expect(inside.stdout).toMatch(/\/platform\.service\/sessions\/0\/\d+-\d+\n/);
    await signed(host);
  });
  await atApt.during("a reload of the new agent", async () => {
    const before = await apt.mainPid();
    await apt.machine.systemctl("reload", "platform");
    await until("the reload has handed over", async () => !["0", before].includes(await apt.mainPid()));
    await expectRunning(apt.machine, "next");
  });

  await atApt.during("an agent goes back", () => moves(apt, "now"));
  await atDnf.during("an agent goes back", () => moves(dnf, "now"));
  await atDnf.during("an agent upgrades again", () => moves(dnf, "next"));
  await signed(dnf);

  await atDnf.during("control goes back below agents of both versions", () => controlBecomes(released));
  if (await releaseSigns()) await atDnf.during("an agent goes back under control of the release", () => moves(dnf, "now"));
  else await forcedBack(dnf, atDnf);

  await eachOf([atApt, atDnf], (work) => work.end());
  await eachOf(hosts, noProcessLeft);
});

test("an agent of the last release that is not root is upgraded under its sessions, and goes back", { timeout: 900_000 }, async () => {
  const { from, repository, dir } = release();
  await using site = await openUpgradeSite({ repository, control: { platform: program("platform", from.programs) } });
  await using host = await site.host();
  const [, script = ""] = /```\n(.*?)```/s.exec(await readFile(join(from.source, "docs/non-root-agent.md"), "utf8")) ?? [];
  await host.machine.output(["sh", "-ec", script]);
  await host.connected();
  const user = await site.cluster.user("walter", { logins: "platform", programs: from.programs });
  await using work = await startWork(user, `platform@${host.machine.hostname}`, dir);
  // Its process of before can hand over only as long as systemd hears all: until the next boot.
  await work.during("an agent that is not root upgrades", () => moves(host, "next", { handsOver: true }));
  await work.during("it goes back", () => moves(host, "now"));
  await work.end();
  await noProcessLeft(host);
});
