import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { openHostileRepository } from "../world/hostile-repository.ts";
import { installedHost } from "../world/installed-host.ts";
import { InstallerHost } from "../world/installer-host.ts";
import { machineFixture } from "../world/machine-fixture.ts";
import type { MachineManager } from "../world/machine-options.ts";
import { packageLockHolders } from "../world/package-lock-holders.ts";
import { rows } from "../world/rounds.ts";
import { until } from "../world/until.ts";

/** The updater's installers on real apt, dnf and zypper, where another program, a power cut or a full disk comes between. */

const repository = machineFixture(openHostileRepository);

describe.each(rows<MachineManager>(["apt", "dnf", "zypper"], ["apt", "dnf"]))("%s:", (manager) => {
  const host = installedHost(manager, repository);

  test("another program that holds the package manager is waited for", async () => {
    await using locker = host().machine.service(["sh", "-c", packageLockHolders[manager]]);
    await until("the lock is held", () => /locked/.test(locker.printed()));
    await using installing = host().begin("install", "platform-ent", "1.1.0");
    await until("it waits", () => /another program holds the package manager/.test(installing.printed()));
    expect(await host().onDisk()).toBe("1.0.0");
    await locker.kill();
    await host().machine.run(["pkill", "-KILL", "perl"]);
    await until("it goes on", () => installing.exited, 90_000);
    expect([installing.printed(), await host().onDisk()]).toEqual([expect.stringContaining("{}"), "1.1.0"]);
  });

  test("a power cut in the middle is healed, and the installation can be repeated", async () => {
    for (const delayMs of [0, 40, 150]) {
      // As every tick does before it installs.
      await host().value("keep", "platform-ent", "1.0.0");
      const installing = host().begin("install", "platform-ent", "1.1.0");
      await until("the transaction begins", () => host().hasFile("/var/lib/platform-upgrade/transaction"), 60_000);
      // Not a wait for anything: the moment is what differs.
      await sleep(delayMs);
      await host().machine.powerCut();
      await installing.stop();
      await host().machine.start();
      expect(["clean", "healed"]).toContain(await host().value("heal"));
      expect(await host().value("heal")).toBe("clean");
      expect(await host().value("installed")).toBe(await host().onDisk());
      await host().value("install", "platform-ent", "1.1.0");
      expect([await host().value("installed"), await host().onDisk()]).toEqual(["1.1.0", "1.1.0"]);
      await host().value("downgrade", "platform-ent", "1.0.0");
    }
  });

  test("the results of an interruption are repaired", async () => {
    await host().value("install", "platform-ent", "1.1.0");
    await host().value("keep", "platform-ent", "1.1.0");
    const kept = `/var/cache/platform-upgrade/platform-ent_1.1.0.${manager === "apt" ? "deb" : "rpm"}`;
    await host().machine.output(["cp", kept, "/tmp/package"]);
    await host().value("downgrade", "platform-ent", "1.0.0");
    // The new files are there; their package is not configured, or the entry of the old one has stayed.
    await host().machine.output(manager === "apt" ? ["dpkg", "--unpack", "/tmp/package"] : ["rpm", "-i", "--force", "--nodeps", "/tmp/package"]);
    expect(await host().value("heal")).toBe("healed");
    expect([await host().value("installed"), await host().onDisk()]).toEqual(["1.1.0", "1.1.0"]);
    expect(await host().value("heal")).toBe("clean");
    if (manager === "apt") return;
    await host().machine.write("/var/lib/platform-upgrade/transaction", "platform-ent\n");
    await host().machine.output(["truncate", "--size=1000", "/usr/bin/platform"]);
    // What rpm writes beside a link, in this second and in the ones to come: it would stumble over it.
    const names = '$(printf "/usr/bin/tctl;%08x" $((now + i)))';
    await host().machine.output(["sh", "-c", `now=$(date +%s); for i in $(seq 0 30); do ln -s platform "${names}"; done`]);
    expect(await host().value("heal")).toBe("healed");
    expect((await host().machine.output(["ls", "/usr/bin"])).includes(";")).toBe(false);
    expect((await host().machine.run(["rpm", "--verify", "--nodeps", "platform-ent"])).stdout).not.toContain("/usr/bin/platform");
    expect(await host().value("heal")).toBe("clean");
  });

  test("a disk with 1 MB left is reported before, and survived", async () => {
    await using small = await InstallerHost.start(manager, repository(), { diskMb: 500 });
    await small.value("refresh");
    await small.value("install", "platform-ent", "1.0.0");
    expect(await small.value("shortage", "platform-ent", "1.1.0")).toBeUndefined();
    await small.machine.leaveFree(1024);
    expect(await small.value("shortage", "platform-ent", "1.1.0")).toMatch(
      /^\/\S+ is on a file system with \d+ MB free, but \d+ MB are needed there$/,
    );
    expect(await small.reason("install", "platform-ent", "1.1.0")).toBe("no_space");
    expect([await small.value("installed"), await small.onDisk()]).toEqual(["1.0.0", "1.0.0"]);
    await small.machine.output(["rm", "/var/tmp/filler"]);
    await small.value("heal");
    await small.value("install", "platform-ent", "1.1.0");
    expect(await small.onDisk()).toBe("1.1.0");
  });
});
