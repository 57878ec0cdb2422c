import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { machineFixture } from "../world/machine-fixture.ts";
import { packagedVersions as versions } from "../world/package-world.ts";
import { rows } from "../world/rounds.ts";
import { allWell, startLoad } from "../world/session-load.ts";
import { openUpgradeSite } from "../world/upgrade-site.ts";

const site = machineFixture(openUpgradeSite);

const each = [
  ["apt", "unconnected"],
  ["dnf", "crashes"],
  ["zypper", "hangs"],
] as const;

test.concurrent.for(rows([...each, ["apt", "crashes"], ["apt", "hangs"]], each))(
  "%s: a version that %s is rolled back while the one before goes on, reported, and skipped from then on",
  { timeout: 400_000 },
  async ([manager, kind]) => {
    await using host = await site().host({ manager });
    const user = await site().cluster.user(`${manager}-${kind}`);
    const folder = await mkdtemp(join(tmpdir(), "platform-load-"));
    await using load = await startLoad(user, {
      ...{ target: `root@${host.machine.hostname}`, folder },
      ...{ bytes: 30_000_000, bytesPerSecond: 500_000, everyMs: 5_000 },
    });
    await load.stillThere();

    await host.follow(`critical/${kind}`);
    const begin = performance.now();
    expect(await host.tick()).toMatchObject({ reason: "rolled_back", current: versions.now, detail: expect.stringContaining(versions[kind]) });
    const seconds = (performance.now() - begin) / 1000;
    process.stderr.write(`  ${manager}, ${kind}: rolled back after ${seconds.toFixed(0)} s\n`);
    expect(await host.version()).toBe(versions.now);
    await host.connected(versions.now);
    await host.reported("rolled_back");
    const { metadata } = await host.record();
    expect(await site().cluster.admin("audit", "ls", "--event=upgrade.rolled_back", "--format=json")).toContain(metadata.name);

    expect(await host.tick()).toMatchObject({ reason: "known_bad", current: versions.now });
    await load.stillThere();

    await host.follow("critical/next");
    expect(await host.tick()).toMatchObject({ reason: "upgraded", current: versions.next });
    await load.stillThere();
    expect({ whole: await load.transferred, ended: await load.finish(), failures: load.logins.failures }).toEqual({
      ...{ whole: true, ended: allWell, failures: [] },
    });
    await rm(folder, { recursive: true });
  },
);

test.concurrent("a version that refuses the configuration is rolled back, and tried again once that is corrected", { timeout: 400_000 }, async () => {
  await using host = await site().host();
  const { machine } = host;
  const pid = await host.mainPid();
  const text = await machine.read("/etc/platform.yaml");
  await machine.write("/etc/platform.yaml", text.replace("platform:\n", "platform:\n  data_dir: /var/lib/elsewhere\n"), 0o600);
  await host.follow("critical/next");
  const until = "it is tried again once /etc/platform.yaml is changed";
  expect(await host.tick()).toMatchObject({
    reason: "rolled_back",
    current: versions.now,
    detail: expect.stringMatching(new RegExp(`a reload cannot change platform.data_dir .*; ${until}`)),
  });
  expect(await host.tick()).toMatchObject({ reason: "known_bad", current: versions.now, detail: expect.stringContaining(until) });
  expect(await machine.output(["platform-upgrade", "status"])).toMatch(new RegExp(`^Skipped: +${versions.next}, .*; ${until}$`, "m"));
  expect(await host.mainPid()).toBe(pid);
  await host.connected(versions.now);

  await machine.write("/etc/platform.yaml", text, 0o600);
  expect(await host.tick()).toMatchObject({ reason: "upgraded", current: versions.next });
  await host.connected(versions.next);
});

test.concurrent("the same where systemd starts the version, and only its exit status says why it ended", { timeout: 400_000 }, async () => {
  await using host = await site().host();
  const { machine } = host;
  // An agent that cannot hand over: the process before is gone, and systemd starts the next one.
  const dropIn = "/etc/systemd/system/platform.service.d/90-test.conf";
  await machine.write(dropIn, "[Service]\nExecReload=\nExecReload=/bin/kill -9 $MAINPID\n");
  await machine.systemctl("daemon-reload");
  const text = await machine.read("/etc/platform.yaml");
  await machine.write("/etc/platform.yaml", `${text}nonsense: yes\n`, 0o600);
  await host.follow("critical/next");
  const until = "it is tried again once /etc/platform.yaml is changed";
  let ended = await host.tick();
  // systemd may call the reload failed, which the next run finds out about.
  if (ended.reason === "restart_needed") ended = await host.tick();
  expect(ended).toMatchObject({ reason: "rolled_back", current: versions.now, detail: expect.stringContaining(until) });
  expect(ended.detail).toContain("it refuses its configuration");
  expect(await host.tick()).toMatchObject({ reason: "known_bad", current: versions.now, detail: expect.stringContaining(until) });
  // Written again as it was, as by a program that manages files.
  await machine.write("/etc/platform.yaml", `${text}nonsense: yes\n`, 0o600);
  expect(await host.tick()).toMatchObject({ reason: "known_bad", current: versions.now });
  expect(await machine.output(["stat", "-c", "%a %s", "/var/lib/platform-upgrade/stamp-key"])).toBe("600 32\n");

  await machine.write("/etc/platform.yaml", text, 0o600);
  await machine.output(["rm", dropIn]);
  await machine.systemctl("daemon-reload");
  // systemd starts it again by itself.
  await host.connected(versions.now);
  expect(await host.tick()).toMatchObject({ reason: "upgraded", current: versions.next });
  await host.connected(versions.next);
});
