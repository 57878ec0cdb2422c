import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { eachOf } from "../world/each-of.ts";
import { machinesSkip } from "../world/machine-skip.ts";
import { standBetween } from "../world/man-in-the-middle.ts";
import { packageWorld, packagedVersions as versions } from "../world/package-world.ts";
import { openSwitchedRepository, type SwitchedRepository } from "../world/switched-repository.ts";
import type { UpgradeHost } from "../world/upgrade-host.ts";
import { openUpgradeSite, type UpgradeSite } from "../world/upgrade-site.ts";

/** The real updater against repositories that are not well, and against somebody on the way, on real apt, dnf and zypper. */

const managers = ["apt", "dnf", "zypper"] as const;
const stack = new AsyncDisposableStack();
let repository: SwitchedRepository;
let site: UpgradeSite;
let hosts: UpgradeHost[];

beforeAll(async () => {
  if (machinesSkip !== undefined) return;
  repository = stack.use(await openSwitchedRepository(await packageWorld()));
  site = stack.use(await openUpgradeSite({ repository: repository.dir }));
  hosts = await site.hosts(managers.map((manager) => ({ manager })));
  for (const host of hosts) stack.use(host);
  for (const host of hosts) await host.follow("critical/next");
}, 400_000);
afterAll(() => stack.disposeAsync());
beforeEach(({ skip }) => skip(machinesSkip !== undefined, machinesSkip));

const each = (act: (host: UpgradeHost) => Promise<void>): Promise<void> => eachOf(hosts, act);

/** A run that leaves all as it was, and says why everywhere. */
async function refused(host: UpgradeHost, reason: string): Promise<void> {
  const before = [await host.mainPid(), await host.version()];
  const done = await host.upgrade("run");
  const state = await host.state();
  expect({ manager: host.machine.manager, status: done.status, said: done.stdout, state }).toMatchObject({
    ...{ status: 1, said: expect.stringContaining(`reason=${reason} `), state: { reason, current: versions.now, target: versions.next } },
  });
  expect([await host.mainPid(), await host.version()]).toEqual(before);
  await host.reported(reason);
  expect(await host.events("upgrade.failed")).toContainEqual(expect.objectContaining({ reason, from: versions.now, to: versions.next }));
}

test.for([
  ["tampered", "signature_wrong"],
  ["wrong_key", "signature_wrong"],
  ["old", "package_missing"],
  ["bad_package", "signature_wrong"],
  ["gone", "repository_unreachable"],
] as const)("a repository that is %s: %s, and nothing has changed", { timeout: 200_000 }, async ([offered, reason]) => {
  await repository.offer(offered);
  await each((host) => refused(host, reason));
});

test("an index that has expired: apt refuses it; where an index has no date, it is package signatures that count", { timeout: 200_000 }, async () => {
  await repository.offer("expired");
  await refused(hosts[0] as UpgradeHost, "signature_wrong");
  expect((await (hosts[0] as UpgradeHost).state()).detail).toMatch(/expired/);
});

test("the next run that finds it well again upgrades", { timeout: 200_000 }, async () => {
  await repository.offer("good");
  await each(async (host) => {
    expect(await host.tick()).toMatchObject({ reason: "upgraded", current: versions.next });
    await host.connected(versions.next);
    await host.reported("upgraded");
  });
});

test("an index of before, well signed and replayed, never takes a host back", { timeout: 200_000 }, async () => {
  await repository.offer("old");
  await each(async (host) => {
    expect(await host.tick()).toMatchObject({ reason: "up_to_date", current: versions.next });
    await host.follow("critical/crashes");
    // apt keeps its newer index, whose files are gone: the package to go back to is the first that is missed.
    expect(await host.tick()).toMatchObject({ reason: expect.stringMatching(/^(package_missing|no_way_back)$/), current: versions.next });
    expect(await host.version()).toBe(versions.next);
    await host.follow("critical/next");
  });
  await repository.offer("good");
});

test("a man in the middle who offers an older version as critical is not believed", { timeout: 200_000 }, async () => {
  await each(async (host) => {
    await using middle = await standBetween(host.machine, site.cluster.proxy, (path) => (path.includes("/critical") ? "yes" : `v${versions.now}`));
    const pid = await host.mainPid();
    for (const command of ["run", "force", "dry-run"] as const) {
      const done = await host.upgrade(command);
      expect({ status: done.status, said: done.stdout }).toMatchObject({ status: 1, said: expect.stringContaining("reason=certificate_wrong ") });
    }
    expect(middle.connections, "the way leads to him").toBeGreaterThan(2);
    expect([await host.version(), await host.mainPid()]).toEqual([versions.next, pid]);
    expect((await host.state()).reason).toBe("certificate_wrong");
    await middle.leave();
    await host.reported("certificate_wrong");
    expect(await host.tick()).toMatchObject({ reason: "up_to_date", current: versions.next });
  });
});

test("nor is he believed about the repository where the endpoint is reached", { timeout: 200_000 }, async () => {
  await each(async (host) => {
    await using middle = await standBetween(host.machine, "100.95.0.0:1", () => "x");
    const files = "/etc/apt/platform.list /etc/yum.repos.d/platform.repo /etc/zypp/repos.d/platform.repo";
    const change = (from: string, to: string): string => `for f in ${files}; do [ ! -e $f ] || sed -i 's,//${from}/,//${to}/,' $f; done`;
    await host.machine.output(["sh", "-c", change(site.cluster.proxy, middle.address)]);
    await host.follow("critical/crashes");
    expect(await host.tick()).toMatchObject({
      reason: "repository_unreachable",
      current: versions.next,
      detail: expect.stringMatching(/certificate/i),
    });
    expect(middle.connections).toBeGreaterThan(0);
    expect(await host.version()).toBe(versions.next);
    await host.machine.output(["sh", "-c", change(middle.address, site.cluster.proxy)]);
    await host.follow("critical/next");
    expect(await host.tick()).toMatchObject({ reason: "up_to_date", current: versions.next });
  });
});

test("a page in place of the version is none", { timeout: 100_000 }, async () => {
  await mkdir(join(repository.dir, "portal"));
  await writeFile(join(repository.dir, "portal/version"), `<html><head><title>Welcome</title></head><body>v${versions.now}</body></html>`);
  await writeFile(join(repository.dir, "portal/critical"), "yes");
  await each(async (host) => {
    await host.machine.write("/etc/platform-upgrade.d/endpoint", `${site.cluster.proxy}/packages/portal\n`);
    const done = await host.upgrade("run");
    expect({ status: done.status, said: done.stdout }).toMatchObject({ status: 1, said: expect.stringContaining("reason=version_nonsense ") });
    await host.reported("version_nonsense");
    expect(await host.version()).toBe(versions.next);
    await host.follow("critical/next");
  });
});
