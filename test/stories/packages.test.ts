import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Machine, startMachine } from "../world/machine.ts";
import type { MachineManager } from "../world/machine-options.ts";
import { machinesSkip } from "../world/machine-skip.ts";
import { PackageManager } from "../world/package-commands.ts";
import { makeStandInRepository, type StandInRepository } from "../world/stand-in-packages.ts";
import { until } from "../world/until.ts";

/** What installing, upgrading and removing our packages does to a host, on real package managers with real systemd. */

let repository: StandInRepository;
beforeAll(async () => {
  if (machinesSkip === undefined) repository = await makeStandInRepository(["1.0.0", "1.1.0"]);
});
afterAll(async () => {
  await repository?.[Symbol.asyncDispose]();
});
beforeEach(({ skip }) => skip(machinesSkip !== undefined, machinesSkip));

async function machineWith(manager: MachineManager): Promise<{ machine: Machine; packages: PackageManager } & AsyncDisposable> {
  const machine = await startMachine({ manager, binds: { [repository.folder]: "/repository" } });
  const packages = new PackageManager(machine);
  await packages.addRepository();
  return { machine, packages, [Symbol.asyncDispose]: () => machine.stop() };
}

/** enabled, disabled, masked or not-found, and active or inactive. */
async function unitState(machine: Machine, unit: string): Promise<string> {
  const [load, enabled, active] = (await machine.output(["systemctl", "show", "--value", "-p", "LoadState,UnitFileState,ActiveState", unit])).split(
    "\n",
  );
  // systemctl prints properties in an order of its own.
  const words = [load, enabled, active].filter((word) => word !== "" && word !== "loaded");
  return words.sort().join(" ");
}

async function timer(machine: Machine): Promise<string> {
  return await unitState(machine, "platform-upgrade.timer");
}

async function mainPid(machine: Machine): Promise<string> {
  return (await machine.output(["systemctl", "show", "--value", "-p", "MainPID", "platform"])).trim();
}

/** Processes of the agent, with those that drain. */
async function processes(machine: Machine): Promise<string[]> {
  return (await machine.run(["pgrep", "-f", "^/bin/sh /usr/bin/platform start|platform-drains$"])).stdout.split("\n").filter((line) => line !== "");
}

async function versions(machine: Machine): Promise<string> {
  return await machine.output(["sh", "-c", "platform version; platform-upgrade version"]);
}

/** Whether a path is there, links to nowhere included. */
async function exists(machine: Machine, path: string): Promise<boolean> {
  return (await machine.run(["sh", "-c", '[ -e "$0" ] || [ -L "$0" ]', path])).status === 0;
}

async function startAgent(machine: Machine): Promise<string> {
  await machine.write("/etc/platform.yaml", "version: v3\n");
  await machine.systemctl("enable", "--now", "platform");
  return await mainPid(machine);
}

describe.each<MachineManager>(["apt", "dnf", "zypper"])("%s:", (manager) => {
  test("a first installation starts the timer and nothing else; its units say what they must", async () => {
    await using host = await machineWith(manager);
    const { machine, packages } = host;
    await packages.install("1.0.0");
    expect(await versions(machine)).toBe("platform 1.0.0\nplatform-upgrade 1.0.0\n");
    for (const name of ["tsh", "tctl"]) expect(await machine.output(["readlink", `/usr/bin/${name}`])).toBe("platform\n");
    expect(await unitState(machine, "platform.service")).toBe("disabled inactive");
    expect(await timer(machine)).toBe("active enabled");
    expect(await exists(machine, "/etc/platform.yaml")).toBe(false);
    expect((await machine.output(["stat", "--format=%U %a", "/etc/platform-upgrade.d"])).trim()).toBe("root 755");
    const properties = await machine.systemctl("show", "-p", "Type,Restart,RestartUSec,NotifyAccess,RuntimeDirectory,Environment", "platform");
    expect(properties.trim().split("\n").sort()).toEqual([
      "Environment=PLATFORM_EXT_UPGRADER=unit",
      "NotifyAccess=all",
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

  test("upgrade, downgrade and reinstallation leave the running agent alone, and what the admin disabled", async () => {
    await using host = await machineWith(manager);
    const { machine, packages } = host;
    await packages.install("1.0.0");
    const pid = await startAgent(machine);
    const before = await processes(machine);
    expect(before).toHaveLength(2);
    await packages.install("1.1.0");
    expect(await versions(machine)).toContain("platform 1.1.0");
    expect([await mainPid(machine), await timer(machine)]).toEqual([pid, "active enabled"]);
    await machine.systemctl("disable", "--now", "platform-upgrade.timer");
    await packages.install("1.0.0");
    expect(await versions(machine)).toContain("platform 1.0.0");
    await packages.reinstall("1.0.0");
    await packages.install("1.1.0");
    expect(await timer(machine)).toBe("disabled inactive");
    expect([await mainPid(machine), await processes(machine)]).toEqual([pid, before]);
    expect((await machine.systemctl("show", "--value", "-p", "NeedDaemonReload", "platform")).trim()).toBe("no");
    await machine.systemctl("reload", "platform");
    expect(await mainPid(machine)).toBe(pid);
  });

  test("a timer that was only stopped, or is masked, stays so in an upgrade", async () => {
    await using host = await machineWith(manager);
    const { machine, packages } = host;
    await packages.install("1.0.0");
    await machine.systemctl("stop", "platform-upgrade.timer");
    await packages.install("1.1.0");
    expect(await timer(machine)).toBe("enabled inactive");
    await machine.systemctl("mask", "platform-upgrade.timer");
    await packages.install("1.0.0");
    expect(await timer(machine)).toBe("inactive masked masked");
  });

  test("removal leaves nothing running, and what is the admin's; what was disabled stays so when it comes again", async () => {
    await using host = await machineWith(manager);
    const { machine, packages } = host;
    await packages.install("1.0.0");
    await startAgent(machine);
    await machine.write("/var/lib/platform/agent/credentials.json", "{}");
    for (const name of ["endpoint", "mine"]) await machine.write(`/etc/platform-upgrade.d/${name}`, "x\n");
    await machine.write("/var/cache/platform-upgrade/platform-ent_0.9.0.deb", "kept for a roll-back");
    await packages.install("1.1.0");
    expect(await exists(machine, "/var/cache/platform-upgrade")).toBe(true);
    await packages.install("1.0.0");
    await machine.systemctl("disable", "--now", "platform-upgrade.timer");
    await packages.remove("platform-ent-updater", "platform-ent");
    expect(await processes(machine)).toEqual([]);
    for (const unit of ["platform.service", "platform-upgrade.timer", "platform-upgrade.service"]) {
      expect(await unitState(machine, unit)).toMatch(/^inactive not-found$/);
    }
    for (const path of [
      "/usr/bin/platform",
      "/usr/bin/tsh",
      "/usr/sbin/platform-upgrade",
      "/usr/lib/platform",
      "/etc/apt/preferences.d/platform-ent",
      "/var/cache/platform-upgrade",
    ]) {
      expect([path, await exists(machine, path)]).toEqual([path, false]);
    }
    const kept = [
      "/etc/platform.yaml",
      "/var/lib/platform/agent/credentials.json",
      "/etc/platform-upgrade.d/endpoint",
      "/etc/platform-upgrade.d/mine",
    ];
    for (const path of kept) expect([path, await exists(machine, path)]).toEqual([path, true]);
    await packages.install("1.1.0");
    expect(await timer(machine)).toBe("disabled inactive");
    expect(await mainPid(machine)).toBe("0");
    await machine.systemctl("enable", "--now", "platform-upgrade.timer");
    await packages.remove("platform-ent-updater");
    await packages.install("1.1.0");
    expect(await timer(machine)).toBe("active enabled");
  });

  test("removing the agent takes the updater with it: nothing would install it again", async () => {
    await using host = await machineWith(manager);
    const { machine, packages } = host;
    await packages.install("1.0.0");
    // What the admin has deleted is no obstacle.
    await machine.systemctl("disable", "--now", "platform-upgrade.timer");
    await machine.output(["rm", "-rf", "/var/lib/platform-upgrade", "/etc/platform-upgrade.d", "/etc/apt/preferences.d/platform-ent"]);
    await packages.remove("platform-ent");
    expect(await exists(machine, "/usr/sbin/platform-upgrade")).toBe(false);
    await packages.install("1.0.0");
    expect(await timer(machine)).toBe("disabled inactive");
  });

  test("removal ends a run of the updater, but not the run that removes it", async () => {
    await using host = await machineWith(manager);
    const { machine, packages } = host;
    await packages.install("1.0.0");
    await machine.write("/var/tmp/updater-run", "#!/bin/sh\nexec sleep infinity\n", 0o755);
    await machine.systemctl("start", "--no-block", "platform-upgrade.service");
    await until("the run sleeps", async () => (await machine.run(["pgrep", "-x", "sleep"])).status === 0);
    await packages.remove("platform-ent-updater");
    expect((await machine.run(["pgrep", "-x", "sleep"])).status).toBe(1);
    await packages.install("1.0.0");
    const command = packages.removal("platform-ent-updater").join(" ");
    await machine.write("/var/tmp/updater-run", `#!/bin/sh\n${command} && echo it went on to its end >/var/tmp/ended\n`, 0o755);
    await machine.systemctl("start", "platform-upgrade.service");
    expect(await machine.read("/var/tmp/ended")).toBe("it went on to its end\n");
    expect(await exists(machine, "/usr/sbin/platform-upgrade")).toBe(false);
  });

  test("an updater whose own upgrade a power cut has torn is put back before its next run", async () => {
    await using host = await machineWith(manager);
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
    expect(await versions(machine)).toBe("platform 1.1.0\nplatform-upgrade 1.0.0\n");
  });

  test("it installs, upgrades and goes where no systemd runs", async () => {
    await using host = await machineWith(manager);
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
    expect(await versions(machine)).toContain("platform 1.1.0");
    expect((await machine.systemctl("list-units", "--no-legend", "--all", "platform-upgrade.timer")).trim()).toBe("");
    await bare.remove("platform-ent-updater", "platform-ent");
    expect(await exists(machine, "/usr/bin/platform")).toBe(false);
  });
});

describe("apt alone:", () => {
  test("purge takes what we wrote, and neither the admin's files nor a cluster's data", async () => {
    await using host = await machineWith("apt");
    const { machine, packages } = host;
    const purge = async (): Promise<string> => await machine.output(["sh", "-c", "apt-get -qqy purge platform-ent platform-ent-updater 2>&1"]);
    await packages.install("1.0.0");
    await startAgent(machine);
    await machine.write("/var/lib/platform/agent/credentials.json", "{}");
    for (const name of ["endpoint", "package", "installer", "schedule", "ca", "mine"]) await machine.write(`/etc/platform-upgrade.d/${name}`, "x\n");
    await machine.write("/var/lib/platform-upgrade/state", "{}");
    await machine.systemctl("disable", "platform-upgrade.timer");
    await purge();
    expect(await machine.output(["ls", "/etc/platform-upgrade.d"])).toBe("mine\n");
    const gone = ["/var/lib/platform", "/var/lib/platform-upgrade", "/etc/needrestart/conf.d/platform.conf"];
    for (const path of [...gone, "/etc/systemd/system/multi-user.target.wants/platform.service"]) {
      expect([path, await exists(machine, path)]).toEqual([path, false]);
    }
    expect(await exists(machine, "/etc/platform.yaml")).toBe(true);
    // Forgotten with the rest: what comes now is a first installation.
    await packages.install("1.0.0");
    expect(await timer(machine)).toBe("active enabled");
    await machine.write("/var/lib/platform/auth/state.sqlite", "");
    expect(await purge()).toContain("/var/lib/platform holds a cluster's authorities");
    expect(await exists(machine, "/var/lib/platform/auth/state.sqlite")).toBe(true);
  });

  test("apt moves neither package by itself while the updater is there, and does again without it", async () => {
    await using host = await machineWith("apt");
    const { machine, packages } = host;
    const upgradable = async (): Promise<string> => await machine.output(["sh", "-c", "apt list --upgradable 2>/dev/null | grep platform || true"]);
    await packages.install("1.0.0");
    expect(await upgradable()).toBe("");
    await machine.output(["apt-get", "-qqy", "dist-upgrade"]);
    expect(await versions(machine)).toContain("platform 1.0.0");
    await packages.remove("platform-ent-updater");
    expect(await upgradable()).toContain("platform-ent/stable");
  });

  test("every maintainer script can run twice", async () => {
    await using host = await machineWith("apt");
    const { machine, packages } = host;
    await packages.install("1.0.0");
    await machine.systemctl("disable", "--now", "platform-upgrade.timer");
    for (const name of ["platform-ent", "platform-ent-updater"]) {
      for (const turn of [1, 2]) await machine.output([`/var/lib/dpkg/info/${name}.postinst`, "configure", `1.0.${turn}`]);
      for (const turn of [1, 2]) await machine.output([`/var/lib/dpkg/info/${name}.prerm`, "upgrade", `1.0.${turn}`]);
    }
    expect(await timer(machine)).toBe("disabled inactive");
    const postrm = await machine.read("/var/lib/dpkg/info/platform-ent-updater.postrm");
    await packages.remove("platform-ent-updater", "platform-ent");
    await machine.write("/tmp/postrm", postrm, 0o755);
    for (const _ of [1, 2]) await machine.output(["/tmp/postrm", "purge"]);
  });
});
