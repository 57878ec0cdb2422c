import { describe, expect, test } from "vitest";
import { machineFixture } from "../world/machine-fixture.ts";
import type { MachineManager } from "../world/machine-options.ts";
import { PackagedHost } from "../world/packaged-host.ts";
import { rows } from "../world/rounds.ts";
import { makeStandInRepository } from "../world/stand-in-packages.ts";
import { until } from "../world/until.ts";

/** What removing our packages does to a host, on real package managers with real systemd. */

const repository = machineFixture(() => makeStandInRepository(["1.0.0", "1.1.0"]));

describe.each(rows<MachineManager>(["apt", "dnf", "zypper"], ["apt", "dnf"]))("%s:", (manager) => {
  test("removal stops everything, and leaves the admin's files; disabled units stay so after reinstallation", async () => {
    await using host = await PackagedHost.start(manager, repository().folder);
    const { machine, packages } = host;
    await packages.install("1.0.0");
    await host.startAgent();
    await machine.write("/var/lib/platform/agent/credentials.json", "{}");
    for (const name of ["endpoint", "mine"]) await machine.write(`/etc/platform-upgrade.d/${name}`, "x\n");
    await machine.write("/var/cache/platform-upgrade/platform-ent_0.9.0.deb", "kept for a roll-back");
    await packages.install("1.1.0");
    expect(await host.exists("/var/cache/platform-upgrade")).toBe(true);
    await packages.install("1.0.0");
    await machine.systemctl("disable", "--now", "platform-upgrade.timer");
    await packages.remove("platform-ent-updater", "platform-ent");
    expect(await host.processes()).toEqual([]);
    for (const unit of ["platform.service", "platform-upgrade.timer", "platform-upgrade.service"]) {
      expect(await host.unitState(unit)).toMatch(/^inactive not-found$/);
    }
    for (const path of [
      "/usr/bin/platform",
      "/usr/bin/tsh",
      "/usr/sbin/platform-upgrade",
      "/usr/lib/platform",
      "/etc/apt/preferences.d/platform-ent",
      "/var/cache/platform-upgrade",
    ]) {
      expect([path, await host.exists(path)]).toEqual([path, false]);
    }
    const kept = [
      "/etc/platform.yaml",
      "/var/lib/platform/agent/credentials.json",
      "/etc/platform-upgrade.d/endpoint",
      "/etc/platform-upgrade.d/mine",
    ];
    for (const path of kept) expect([path, await host.exists(path)]).toEqual([path, true]);
    await packages.install("1.1.0");
    expect(await host.timer()).toBe("disabled inactive");
    expect(await host.mainPid()).toBe("0");
    await machine.systemctl("enable", "--now", "platform-upgrade.timer");
    await packages.remove("platform-ent-updater");
    await packages.install("1.1.0");
    expect(await host.timer()).toBe("active enabled");
  });

  test("removing the agent takes the updater with it: nothing would install it again", async () => {
    await using host = await PackagedHost.start(manager, repository().folder);
    const { machine, packages } = host;
    await packages.install("1.0.0");
    // Files that the admin has deleted do not matter.
    await machine.systemctl("disable", "--now", "platform-upgrade.timer");
    await machine.output(["rm", "-rf", "/var/lib/platform-upgrade", "/etc/platform-upgrade.d", "/etc/apt/preferences.d/platform-ent"]);
    await packages.remove("platform-ent");
    expect(await host.exists("/usr/sbin/platform-upgrade")).toBe(false);
    await packages.install("1.0.0");
    expect(await host.timer()).toBe("disabled inactive");
  });

  test("removal ends a run of the updater, but not the run that removes it", async () => {
    await using host = await PackagedHost.start(manager, repository().folder);
    const { machine, packages } = host;
    await packages.install("1.0.0");
    await machine.write("/opt/updater-run", "#!/bin/sh\nexec sleep infinity\n", 0o755);
    await machine.systemctl("start", "--no-block", "platform-upgrade.service");
    await until("the run sleeps", async () => (await machine.run(["pgrep", "-x", "sleep"])).status === 0);
    await packages.remove("platform-ent-updater");
    expect((await machine.run(["pgrep", "-x", "sleep"])).status).toBe(1);
    await packages.install("1.0.0");
    const command = packages.removal("platform-ent-updater").join(" ");
    await machine.write("/opt/updater-run", `#!/bin/sh\n${command} && echo it went on to its end >/opt/ended\n`, 0o755);
    await machine.systemctl("start", "platform-upgrade.service");
    expect(await machine.read("/opt/ended")).toBe("it went on to its end\n");
    expect(await host.exists("/usr/sbin/platform-upgrade")).toBe(false);
  });
});
