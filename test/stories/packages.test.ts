import { describe, expect, test } from "vitest";
import { machineFixture } from "../world/machine-fixture.ts";
import type { MachineManager } from "../world/machine-options.ts";
import { PackageManager } from "../world/package-commands.ts";
import { PackagedHost } from "../world/packaged-host.ts";
import { rows } from "../world/rounds.ts";
import { makeStandInRepository } from "../world/stand-in-packages.ts";

/** What installing and upgrading our packages does to a host, on real package managers with real systemd. */

const repository = machineFixture(() => makeStandInRepository(["1.0.0", "1.1.0"]));

describe.each(rows<MachineManager>(["apt", "dnf", "zypper"], ["apt", "zypper"]))("%s:", (manager) => {
  test("a first installation starts the timer and nothing else; its units are as required", async () => {
    await using host = await PackagedHost.start(manager, repository().folder);
    const { machine, packages } = host;
    await packages.install("1.0.0");
    expect(await host.versions()).toBe("platform 1.0.0\nplatform-upgrade 1.0.0\n");
    for (const name of ["tsh", "tctl"]) expect(await machine.output(["readlink", `/usr/bin/${name}`])).toBe("platform\n");
    expect(await host.unitState("platform.service")).toBe("disabled inactive");
    expect(await host.timer()).toBe("active enabled");
    expect(await host.exists("/etc/platform.yaml")).toBe(false);
    expect((await machine.output(["stat", "--format=%U %a", "/etc/platform-upgrade.d"])).trim()).toBe("root 755");
    const properties = await machine.systemctl("show", "-p", "Type,Restart,RestartUSec,NotifyAccess,RuntimeDirectory,Environment", "platform");
    expect(properties.trim().split("\n").sort()).toEqual([
      "Environment=PLATFORM_EXT_UPGRADER=unit",
      "NotifyAccess=main",
      "Restart=always",
      "RestartUSec=5s",
      "RuntimeDirectory=platform",
      "Type=simple",
    ]);
    const verified = await machine.run([
      "systemd-analyze",
      "verify",
      "--man=no",
      "platform.service",
      "platform-upgrade.service",
      "platform-upgrade.timer",
    ]);
    expect(verified).toMatchObject({ status: 0, stderr: "" });
  });

  test("upgrade, downgrade and reinstallation leave the running agent and disabled units alone", async () => {
    await using host = await PackagedHost.start(manager, repository().folder);
    const { machine, packages } = host;
    await packages.install("1.0.0");
    const pid = await host.startAgent();
    const before = await host.processes();
    await packages.install("1.1.0");
    expect(await host.versions()).toContain("platform 1.1.0");
    expect([await host.mainPid(), await host.timer()]).toEqual([pid, "active enabled"]);
    await machine.systemctl("disable", "--now", "platform-upgrade.timer");
    await packages.install("1.0.0");
    expect(await host.versions()).toContain("platform 1.0.0");
    await packages.reinstall("1.0.0");
    await packages.install("1.1.0");
    expect(await host.timer()).toBe("disabled inactive");
    expect([await host.mainPid(), await host.processes()]).toEqual([pid, before]);
    expect((await machine.systemctl("show", "--value", "-p", "NeedDaemonReload", "platform")).trim()).toBe("no");
    await machine.systemctl("reload", "platform");
    expect(await host.mainPid()).toBe(pid);
  });

  test("a timer that was only stopped, or is masked, stays so in an upgrade", async () => {
    await using host = await PackagedHost.start(manager, repository().folder);
    const { machine, packages } = host;
    await packages.install("1.0.0");
    await machine.systemctl("stop", "platform-upgrade.timer");
    await packages.install("1.1.0");
    expect(await host.timer()).toBe("enabled inactive");
    await machine.systemctl("mask", "platform-upgrade.timer");
    await packages.install("1.0.0");
    expect(await host.timer()).toBe("inactive masked masked");
  });

  test("an updater whose own upgrade a power cut has torn is put back before its next run", async () => {
    await using host = await PackagedHost.start(manager, repository().folder);
    const { machine, packages } = host;
    await packages.install("1.0.0");
    await packages.install("1.1.0");
    const torn = `type=$(if [ -d /var/lib/dpkg/info ] && dpkg -s platform-ent >/dev/null 2>&1; then echo deb; else echo rpm; fi)
      mkdir -p /var/cache/platform-upgrade
      cp "$(find /repository/ -name "platform-ent-updater[_-]1.0.0*.$type" | head -n 1)" "/var/cache/platform-upgrade/platform-ent-updater_1.0.0.$type"
      : >/usr/sbin/platform-upgrade`;
    await machine.output(["sh", "-ec", torn]);
    const upgrade = { phase: "following", from: "1.0.0", to: "1.1.0", before: "stopped", started: "2026-01-01T00:00:00Z", boot: "b", tries: 0 };
    await machine.write("/var/lib/platform-upgrade/state", `${JSON.stringify({ version: 1, skip: [], upgrade })}\n`);
    await machine.systemctl("start", "platform-upgrade.service");
    expect(await host.versions()).toBe("platform 1.1.0\nplatform-upgrade 1.0.0\n");
  });

  test("it installs, upgrades and goes where no systemd runs", async () => {
    await using host = await PackagedHost.start(manager, repository().folder);
    const { machine } = host;
    // A mount namespace in which neither systemd nor systemctl is to be found.
    const hidden = [
      "unshare",
      "--mount",
      "sh",
      "-ec",
      'mount -t tmpfs none /run; mount --bind /usr/sbin/nologin /usr/bin/systemctl; exec "$@"',
      "sh",
    ];
    const bare = new PackageManager(machine, hidden);
    await bare.install("1.0.0");
    await bare.install("1.1.0");
    expect(await host.versions()).toContain("platform 1.1.0");
    expect((await machine.systemctl("list-units", "--no-legend", "--all", "platform-upgrade.timer")).trim()).toBe("");
    await bare.remove("platform-ent-updater", "platform-ent");
    expect(await host.exists("/usr/bin/platform")).toBe(false);
  });
});
