import { afterEach, describe, expect, test } from "vitest";
import { openHostileRepository } from "../world/hostile-repository.ts";
import { InstallerHost } from "../world/installer-host.ts";
import { machineFixture } from "../world/machine-fixture.ts";
import type { MachineManager } from "../world/machine-options.ts";
import { machinesSkip } from "../world/machine-skip.ts";
import { rows } from "../world/rounds.ts";

/** The updater's installers on real apt, dnf, yum and zypper: versions up and down, and whose word counts. */

const repository = machineFixture(openHostileRepository);

/** What an admin and the jobs of a distribution do to move packages. */
const strayUpgrades: Readonly<Record<MachineManager, readonly string[]>> = {
  apt: [
    "apt-get update",
    "apt-get -y upgrade",
    "apt-get -y dist-upgrade",
    "apt-get -y install platform-ent",
    "apt-get -y install --only-upgrade platform-ent platform-ent-updater",
    `echo 'Unattended-Upgrade::Origins-Pattern { "origin=platform"; "site=*"; };' >/etc/apt/apt.conf.d/52all; unattended-upgrade`,
  ],
  dnf: ["dnf -y upgrade", "dnf -y distro-sync", "dnf -y --enablerepo=* upgrade", "dnf -y autoremove", "dnf-3 automatic"],
  yum: ["yum -y update", "yum -y --enablerepo=* update"],
  zypper: ["zypper -n update", "zypper -n patch", "zypper -n dist-upgrade"],
};

const holds: Readonly<Record<MachineManager, readonly { readonly set: string; readonly lift: string; readonly names: RegExp }[]>> = {
  apt: [
    { set: "apt-mark hold platform-ent", lift: "apt-mark unhold platform-ent", names: /apt-mark unhold/ },
    {
      set: "printf 'Package: platform-ent\\nPin: version 1.0.*\\nPin-Priority: 1001\\n' >/etc/apt/preferences.d/zz-admin",
      lift: "rm /etc/apt/preferences.d/zz-admin",
      names: /pinned .* by \/etc\/apt\/preferences\.d\/zz-admin/,
    },
    {
      set: "printf 'Package: *\\nPin: release o=platform\\nPin-Priority: -1\\n' >/etc/apt/preferences",
      lift: "rm /etc/apt/preferences",
      names: /pinned/,
    },
  ],
  dnf: [
    { set: "dnf -C versionlock add platform-ent", lift: "dnf -C versionlock clear", names: /versionlock delete 'platform-ent-0:1\.0\.0-1\.\*'/ },
    { set: "echo 'exclude=platform-*' >>/etc/dnf/dnf.conf", lift: "sed -i /^exclude=/d /etc/dnf/dnf.conf", names: /exclude=/ },
  ],
  yum: [{ set: "echo 'exclude=platform-*' >>/etc/dnf/dnf.conf", lift: "sed -i /^exclude=/d /etc/dnf/dnf.conf", names: /exclude=/ }],
  zypper: [
    { set: "zypper -n addlock platform-ent", lift: "zypper -n removelock platform-ent", names: /removelock 'platform-ent'/ },
    { set: "zypper -n addlock 'platform*'", lift: "zypper -n removelock 'platform*'", names: /removelock 'platform\*'/ },
  ],
};

describe.each(rows<MachineManager>(["apt", "dnf", "yum", "zypper"], ["apt", "yum", "zypper"]))("%s:", (manager) => {
  const more = manager === "apt" ? { packages: ["unattended-upgrades", "needrestart"] } : {};
  const host = machineFixture(() => InstallerHost.start(manager, repository(), more));
  afterEach(async () => {
    if (machinesSkip === undefined) await host().restore();
  });

  test("installs exactly the version, up and down, and pre-releases", async () => {
    expect(await host().value("installed")).toBeUndefined();
    await host().value("refresh");
    await host().value("install", "platform-ent", "1.0.0");
    await host().value("install", "platform-ent-updater", "1.0.0");
    for (const [method, version] of [
      ["install", "1.1.0"],
      ["install", "1.2.0-rc.1"],
      ["downgrade", "1.0.0"],
      ["install", "1.0.0"],
    ] as const) {
      expect(await host().value("available", "platform-ent", version)).toBe(true);
      await host().value(method, "platform-ent", version);
      expect([await host().value("installed"), await host().onDisk()]).toEqual([version, version]);
    }
    expect(await host().value("installed", "platform-ent-updater")).toBe("1.0.0");
    expect(await host().value("heal")).toBe("clean");
  });

  test("installs an older version only when allowed, and reports versions that the repository lacks", async () => {
    await host().value("install", "platform-ent", "1.1.0");
    await host().call("install", ["platform-ent", "1.0.0"]);
    expect(await host().onDisk()).toBe("1.1.0");
    expect(await host().value("available", "platform-ent", "1.9.0")).toBe(false);
    expect(await host().value("available", "stranger", "1.0.0")).toBe(false);
    expect(await host().reason("install", "platform-ent", "1.9.0")).toBe("package_missing");
    expect(await host().reason("shortage", "platform-ent", "1.9.0")).toBe("package_missing");
    expect(await host().onDisk()).toBe("1.1.0");
  });

  test("nothing else moves our packages", async () => {
    for (const command of strayUpgrades[manager]) {
      const done = await host().machine.run(["sh", "-c", command]);
      const now = [await host().onDisk(), (await host().machine.output(["platform-upgrade", "version"])).trim()];
      expect(now, `${command}\n${done.stdout}${done.stderr}`).toEqual(["1.0.0", "platform-upgrade 1.0.0"]);
    }
  });

  test.for(holds[manager])("$set is the admin's, and is respected", async ({ set, lift, names }) => {
    expect(await host().value("hold")).toBeUndefined();
    await host().machine.output(["sh", "-c", set]);
    try {
      expect(await host().value("hold")).toMatch(names);
      expect(await host().reason("install", "platform-ent", "1.1.0")).toBe("held_by_admin");
      expect(await host().onDisk()).toBe("1.0.0");
    } finally {
      await host().machine.output(["sh", "-c", lift]);
    }
    expect(await host().value("hold")).toBeUndefined();
  });

  test("nothing of the host but our repository is asked", async () => {
    const from = repository().asked.length;
    await host().value("refresh");
    expect(
      repository()
        .asked.slice(from)
        .every((path) => path.startsWith("/good/")),
    ).toBe(true);
    expect(repository().asked.length).toBeGreaterThan(from);
  });
});
