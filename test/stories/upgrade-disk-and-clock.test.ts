import { expect, test } from "vitest";
import { clockEnv, setClock } from "../world/machine-clock.ts";
import { machineFixture } from "../world/machine-fixture.ts";
import { setWindow } from "../world/maintenance-window.ts";
import { packagedVersions as versions } from "../world/package-world.ts";
import { until } from "../world/until.ts";
import { openUpgradeSite } from "../world/upgrade-site.ts";

const site = machineFixture(() => openUpgradeSite({ certificateDays: 30 }));

test.concurrent("a disk with 1 MB left: said, nothing half done, the agent goes on; with room again it upgrades", { timeout: 900_000 }, async () => {
  await using host = await site().host({ diskMb: 1200 });
  const { machine } = host;
  await host.follow("critical/next");
  await machine.leaveFree(1024);
  const pid = await host.mainPid();
  for (const command of ["run", "force"] as const) {
    const done = await host.upgrade(command);
    expect({ status: done.status, said: done.stdout }).toEqual({ status: 1, said: expect.stringContaining("reason=no_space ") });
  }
  expect(await host.state()).toMatchObject({
    reason: "no_space",
    current: versions.now,
    detail: expect.stringMatching(/ is on a file system with \d+ MB free/),
  });
  await host.reported("no_space");
  expect([await host.version(), await host.mainPid()]).toEqual([versions.now, pid]);
  expect(await machine.output(["dpkg", "--audit"])).toBe("");
  const user = await site().cluster.user("narrow");
  expect(await user.tsh(["ssh", `root@${machine.hostname}`, "true"])).toMatchObject({ status: 0 });

  await machine.output(["rm", "/var/tmp/filler"]);
  expect(await host.tick()).toMatchObject({ reason: "upgraded", current: versions.next });
  await host.connected(versions.next);
});

test.concurrent("a clock that is off: what is not valid then is named, and nothing falls over", {
  timeout: 900_000,
}, async () => {
  await setWindow(site().cluster, 0, { todayOnly: true });
  await using host = await site().host();
  const { machine } = host;
  await until("the schedule has come", async () => /^\d+ \d+$/m.test(await machine.read("/etc/platform-upgrade.d/schedule")), 90_000);
  await host.follow("next");
  for (const offset of ["+1d", "-1d"]) {
    await setClock(machine, ["platform-upgrade"], offset);
    expect(await host.tick(), offset).toMatchObject({ reason: "not_signed", detail: expect.stringContaining("clock"), current: versions.now });
  }
  await setClock(machine, ["platform-upgrade"], "");
  await host.follow("critical/next");
  // The updater hands on no variables but those that a package manager shall see.
  const pairs = Object.entries(clockEnv("-1d")).map(([key, value]) => `${key}=${value}`);
  await machine.write("/usr/local/sbin/apt-get", `#!/bin/sh\nexec env ${pairs.join(" ")} /usr/bin/apt-get "$@"\n`, 0o755);
  expect(await host.tick()).toMatchObject({ reason: "signature_wrong", current: versions.now, detail: expect.stringContaining("not valid yet") });
  await machine.output(["rm", "/usr/local/sbin/apt-get"]);
  for (const [offset, what] of [
    ["+60d", /expired/],
    ["-60d", /not valid yet/],
  ] as const) {
    await setClock(machine, ["platform-upgrade"], offset);
    expect(await host.tick()).toMatchObject({ reason: "certificate_wrong", current: versions.now, detail: expect.stringMatching(what) });
  }

  await setClock(machine, ["platform"], "-1d");
  await machine.systemctl("restart", "platform");
  await until("the agent says what is wrong", async () => /not valid yet/.test(await machine.journal("platform")));
  expect(await machine.systemctl("show", "--property=ActiveState,NRestarts", "platform")).toBe("NRestarts=0\nActiveState=active\n");
  await setClock(machine, ["platform"], "+1d");
  await machine.systemctl("restart", "platform");
  await host.connected();
  await setClock(machine, ["platform-upgrade"], "");
  expect(await host.tick()).toMatchObject({ reason: "upgraded", current: versions.next });
  await host.connected(versions.next);

  await setClock(machine, ["platform", "platform-upgrade"], "");
  await machine.systemctl("reload", "platform");
  expect(await host.tick()).toMatchObject({ reason: "up_to_date", current: versions.next });
  await host.connected(versions.next);
});
