import { describe, expect, test } from "vitest";
import { machineFixture } from "../world/machine-fixture.ts";
import { PackagedHost } from "../world/packaged-host.ts";
import { makeStandInRepository } from "../world/stand-in-packages.ts";

/** What only Debian's package manager knows of: purge, pins, and maintainer scripts that are run again. */

const repository = machineFixture(() => makeStandInRepository(["1.0.0", "1.1.0"]));

describe("apt alone:", () => {
  test("purge removes our files, and neither the admin's files nor a cluster's data", async () => {
    await using host = await PackagedHost.start("apt", repository().folder);
    const { machine, packages } = host;
    const purge = async (): Promise<string> => await machine.output(["sh", "-c", "apt-get -qqy purge platform-ent platform-ent-updater 2>&1"]);
    await packages.install("1.0.0");
    await host.startAgent();
    await machine.write("/var/lib/platform/agent/credentials.json", "{}");
    for (const name of ["endpoint", "package", "installer", "schedule", "ca", "authorities", "mine"])
      await machine.write(`/etc/platform-upgrade.d/${name}`, "x\n");
    await machine.write("/var/lib/platform-upgrade/state", "{}");
    // As install.sh leaves it; the list that this machine's packages come from is its admin's.
    await machine.write("/etc/apt/platform.list", "deb https://control.test/packages/apt stable/v1 main\n");
    await machine.systemctl("disable", "platform-upgrade.timer");
    await purge();
    expect(await machine.output(["ls", "/etc/platform-upgrade.d"])).toBe("mine\n");
    const gone = ["/var/lib/platform", "/var/lib/platform-upgrade", "/etc/needrestart/conf.d/platform.conf", "/etc/apt/platform.list"];
    for (const path of [...gone, "/etc/systemd/system/multi-user.target.wants/platform.service"]) {
      expect([path, await host.exists(path)]).toEqual([path, false]);
    }
    for (const path of ["/etc/platform.yaml", "/etc/apt/keyrings/platform.asc"]) expect([path, await host.exists(path)]).toEqual([path, true]);
    // Forgotten with the rest: what comes now is a first installation.
    await packages.install("1.0.0");
    expect(await host.timer()).toBe("active enabled");
    await machine.write("/var/lib/platform/auth/state.sqlite", "");
    expect(await purge()).toContain("/var/lib/platform holds a cluster's authorities");
    expect(await host.exists("/var/lib/platform/auth/state.sqlite")).toBe(true);
  });

  test("apt moves neither package by itself while the updater is there, and does again without it", async () => {
    await using host = await PackagedHost.start("apt", repository().folder);
    const { machine, packages } = host;
    const upgradable = async (): Promise<string> => await machine.output(["sh", "-c", "apt list --upgradable 2>/dev/null | grep platform || true"]);
    await packages.install("1.0.0");
    expect(await upgradable()).toBe("");
    await machine.output(["apt-get", "-qqy", "dist-upgrade"]);
    expect(await host.versions()).toContain("platform 1.0.0");
    await packages.remove("platform-ent-updater");
    expect(await upgradable()).toContain("platform-ent/stable");
  });

  test("every maintainer script can run twice", async () => {
    await using host = await PackagedHost.start("apt", repository().folder);
    const { machine, packages } = host;
    await packages.install("1.0.0");
    await machine.systemctl("disable", "--now", "platform-upgrade.timer");
    for (const name of ["platform-ent", "platform-ent-updater"]) {
      for (const turn of [1, 2]) await machine.output([`/var/lib/dpkg/info/${name}.postinst`, "configure", `1.0.${turn}`]);
      for (const turn of [1, 2]) await machine.output([`/var/lib/dpkg/info/${name}.prerm`, "upgrade", `1.0.${turn}`]);
    }
    expect(await host.timer()).toBe("disabled inactive");
    const postrm = await machine.read("/var/lib/dpkg/info/platform-ent-updater.postrm");
    await packages.remove("platform-ent-updater", "platform-ent");
    await machine.write("/tmp/postrm", postrm, 0o755);
    for (const _ of [1, 2]) await machine.output(["/tmp/postrm", "purge"]);
  });
});
