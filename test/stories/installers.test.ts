import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type HostileRepository, openHostileRepository, type Served } from "../world/hostile-repository.ts";
import { startSquid } from "../world/http-proxy/start-squid.ts";
import { InstallerHost } from "../world/installer-host.ts";
import { type HostAddress, openHostAddress } from "../world/machine-network.ts";
import type { MachineManager } from "../world/machine-options.ts";
import { machinesSkip } from "../world/machine-skip.ts";
import { until } from "../world/until.ts";

/** The updater's installers on real apt, dnf, yum and zypper, with our packages in a repository that is not always well. */

let address: HostAddress;
let repository: HostileRepository;
beforeAll(async () => {
  if (machinesSkip !== undefined) return;
  address = await openHostAddress();
  repository = await openHostileRepository(address.address);
});
afterAll(async () => {
  await repository?.[Symbol.asyncDispose]();
  await address?.[Symbol.asyncDispose]();
});
beforeEach(({ skip }) => skip(machinesSkip !== undefined, machinesSkip));

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

/** struct flock of 64-bit Linux: type, whence, start, length, process. */
const posixLock = (file: string): string =>
  `exec perl -MFcntl -e '$|=1; open(F,"+>>","${file}"); my $lock=pack("s s x4 q q i",F_WRLCK,0,0,0,0); fcntl(F,F_SETLK,$lock) or die; print "locked\\n"; sleep 600'`;

const lockers: Readonly<Record<MachineManager, string>> = {
  apt: posixLock("/var/lib/dpkg/lock-frontend"),
  dnf: posixLock("/var/lib/rpm/.rpm.lock"),
  yum: posixLock("/var/lib/rpm/.rpm.lock"),
  zypper: 'exec perl -e \'$|=1; open(F,">","/run/zypp.pid"); print F $$; close F; print "locked\\n"; sleep 600\'',
};

describe.each<MachineManager>(["apt", "dnf", "yum", "zypper"])("%s:", (manager) => {
  // yum is dnf by another name: what takes long is tried with one of them.
  const onceForDnf = test.skipIf(manager === "yum");
  let host: InstallerHost;
  beforeAll(async () => {
    if (machinesSkip !== undefined) return;
    host = await InstallerHost.start(manager, repository, manager === "apt" ? { packages: ["unattended-upgrades", "needrestart"] } : {});
  });
  afterAll(async () => {
    await host?.[Symbol.asyncDispose]();
  });
  afterEach(async () => {
    if (machinesSkip !== undefined) return;
    if (host.served !== "good") {
      await host.use("good");
      await host.value("refresh");
    }
    if ((await host.onDisk()) !== "1.0.0") await host.value("downgrade", "platform-ent", "1.0.0");
  });

  test("installs exactly the version, up and down, and pre-releases", async () => {
    expect(await host.value("installed")).toBeUndefined();
    await host.value("refresh");
    await host.value("install", "platform-ent", "1.0.0");
    await host.value("install", "platform-ent-updater", "1.0.0");
    for (const [method, version] of [
      ["install", "1.1.0"],
      ["install", "1.2.0-rc.1"],
      ["downgrade", "1.0.0"],
      ["install", "1.0.0"],
    ] as const) {
      expect(await host.value("available", "platform-ent", version)).toBe(true);
      await host.value(method, "platform-ent", version);
      expect([await host.value("installed"), await host.onDisk()]).toEqual([version, version]);
    }
    expect(await host.value("installed", "platform-ent-updater")).toBe("1.0.0");
    expect(await host.value("heal")).toBe("clean");
  });

  test("goes to an older version only when it may, and says what the repository has not", async () => {
    await host.value("install", "platform-ent", "1.1.0");
    await host.call("install", ["platform-ent", "1.0.0"]);
    expect(await host.onDisk()).toBe("1.1.0");
    expect(await host.value("available", "platform-ent", "1.9.0")).toBe(false);
    expect(await host.value("available", "stranger", "1.0.0")).toBe(false);
    expect(await host.reason("install", "platform-ent", "1.9.0")).toBe("package_missing");
    expect(await host.reason("shortage", "platform-ent", "1.9.0")).toBe("package_missing");
    expect(await host.onDisk()).toBe("1.1.0");
  });

  test("nothing else moves our packages", async () => {
    for (const command of strayUpgrades[manager]) {
      const done = await host.machine.run(["sh", "-c", command]);
      const now = [await host.onDisk(), (await host.machine.output(["platform-upgrade", "version"])).trim()];
      expect(now, `${command}\n${done.stdout}${done.stderr}`).toEqual(["1.0.0", "platform-upgrade 1.0.0"]);
    }
  });

  test.for(holds[manager])("$set is the admin's, and is respected", async ({ set, lift, names }) => {
    expect(await host.value("hold")).toBeUndefined();
    await host.machine.output(["sh", "-c", set]);
    try {
      expect(await host.value("hold")).toMatch(names);
      expect(await host.reason("install", "platform-ent", "1.1.0")).toBe("held_by_admin");
      expect(await host.onDisk()).toBe("1.0.0");
    } finally {
      await host.machine.output(["sh", "-c", lift]);
    }
    expect(await host.value("hold")).toBeUndefined();
  });

  onceForDnf.for<[Served, string]>([
    ["tampered", "signature_wrong"],
    ["wrong_key", "signature_wrong"],
    ["gone", "repository_unreachable"],
    ["portal", "repository_unreachable"],
    ...(manager === "apt" ? ([["expired", "signature_wrong"]] as const).map(([a, b]): [Served, string] => [a, b]) : []),
  ])("an index that is %s is refused with %s", async ([served, reason]) => {
    await host.use(served);
    const { reason: found, message } = await host.call("refresh");
    expect(`${found} ${message}`).toMatch(new RegExp(`^${reason} `));
  });

  test("a repository that cannot be reached is told apart", async () => {
    await host.use("good", `http://${address.address}:1`);
    expect(await host.reason("refresh")).toBe("repository_unreachable");
    await host.use("good", "http://nowhere.invalid");
    expect(await host.reason("refresh")).toBe("repository_unreachable");
  });

  onceForDnf.for<[Served, string]>([
    ["bad_package", "signature_wrong"],
    ["no_package", "package_missing"],
  ])("with a repository of %s nothing is installed: %s; a kept package still is", async ([served, reason]) => {
    await host.value("keep", "platform-ent", "1.0.0");
    await host.value("install", "platform-ent", "1.1.0");
    await host.use(served);
    await host.value("refresh");
    expect(await host.reason("install", "platform-ent", "1.2.0-rc.1")).toBe(reason);
    expect(await host.onDisk()).toBe("1.1.0");
    await host.value("downgrade", "platform-ent", "1.0.0");
    expect([await host.value("installed"), await host.onDisk()]).toEqual(["1.0.0", "1.0.0"]);
  });

  onceForDnf("another program that holds the package manager is waited for", async () => {
    await using locker = host.machine.service(["sh", "-c", lockers[manager]]);
    await until("the lock is held", () => /locked/.test(locker.printed()));
    await using installing = host.begin("install", "platform-ent", "1.1.0");
    await until("it waits", () => /another program holds the package manager/.test(installing.printed()));
    expect(await host.onDisk()).toBe("1.0.0");
    await locker.kill();
    await host.machine.run(["pkill", "-KILL", "perl"]);
    await until("it goes on", () => installing.exited, 90_000);
    expect([installing.printed(), await host.onDisk()]).toEqual([expect.stringContaining("{}"), "1.1.0"]);
  });

  onceForDnf("a proxy with a password reaches the package manager, but not its command line; NO_PROXY is ours to decide", async () => {
    const password = "p@ss:w%rd";
    await using proxy = await startSquid({ address: address.address, user: "agent", password });
    const env = { HTTPS_PROXY: proxy.httpUrl };
    const direct = await host.call("refresh", [], { ...env, NO_PROXY: `${address.address}/32` });
    expect([direct.reason, await proxy.accessLog()]).toEqual([undefined, ""]);
    for (const [method, ...args] of [["refresh"], ["install", "platform-ent", "1.1.0"]] as const) {
      const through = await host.call(method, args, env);
      expect(through.message).toBeUndefined();
      expect(through.log).not.toContain("w%25rd");
    }
    expect(await host.onDisk()).toBe("1.1.0");
    expect(await proxy.accessLog()).toMatch(/\.(deb|rpm) agent /);
    const wrong = await host.call("refresh", [], { HTTPS_PROXY: proxy.httpUrl.replace("agent:", "stranger:") });
    expect(wrong.reason).toBe("repository_unreachable");
  });

  onceForDnf("a power cut in the middle is healed, and the installation can be repeated", async () => {
    for (const delayMs of [0, 40, 150]) {
      const installing = host.begin("install", "platform-ent", "1.1.0");
      await until("the transaction begins", () => host.hasFile("/var/lib/platform-upgrade/transaction"), 60_000);
      await sleep(delayMs);
      await host.machine.powerCut();
      await installing.stop();
      await host.machine.start();
      expect(["clean", "healed"]).toContain(await host.value("heal"));
      expect(await host.value("heal")).toBe("clean");
      expect(await host.value("installed")).toBe(await host.onDisk());
      await host.value("install", "platform-ent", "1.1.0");
      expect([await host.value("installed"), await host.onDisk()]).toEqual(["1.1.0", "1.1.0"]);
      await host.value("downgrade", "platform-ent", "1.0.0");
    }
  });

  onceForDnf("what an interruption leaves behind is put right", async () => {
    await host.value("install", "platform-ent", "1.1.0");
    await host.value("keep", "platform-ent", "1.1.0");
    const kept = `/var/cache/platform-upgrade/platform-ent_1.1.0.${manager === "apt" ? "deb" : "rpm"}`;
    await host.machine.output(["cp", kept, "/tmp/package"]);
    await host.value("downgrade", "platform-ent", "1.0.0");
    // The new files are there; their package is not configured, or the entry of the old one has stayed.
    await host.machine.output(manager === "apt" ? ["dpkg", "--unpack", "/tmp/package"] : ["rpm", "-i", "--force", "--nodeps", "/tmp/package"]);
    expect(await host.value("heal")).toBe("healed");
    expect([await host.value("installed"), await host.onDisk()]).toEqual(["1.1.0", "1.1.0"]);
    expect(await host.value("heal")).toBe("clean");
    if (manager === "apt") return;
    await host.machine.write("/var/lib/platform-upgrade/transaction", "platform-ent\n");
    await host.machine.output(["truncate", "--size=1000", "/usr/bin/platform"]);
    expect(await host.value("heal")).toBe("healed");
    expect((await host.machine.run(["rpm", "--verify", "--nodeps", "platform-ent"])).stdout).not.toContain("/usr/bin/platform");
    expect(await host.value("heal")).toBe("clean");
  });

  onceForDnf("a disk with 1 MB left is told before, and survived", async () => {
    await using small = await InstallerHost.start(manager, repository, { diskMb: 500 });
    await small.value("refresh");
    await small.value("install", "platform-ent", "1.0.0");
    expect(await small.value("shortage", "platform-ent", "1.1.0")).toBeUndefined();
    await small.machine.leaveFree(1024);
    expect(await small.value("shortage", "platform-ent", "1.1.0")).toMatch(
      /^\/\S+ is on a file system with \d+ MB free, and \d+ MB are needed there$/,
    );
    expect(await small.reason("install", "platform-ent", "1.1.0")).toBe("no_space");
    expect([await small.value("installed"), await small.onDisk()]).toEqual(["1.0.0", "1.0.0"]);
    await small.machine.output(["rm", "/var/tmp/filler"]);
    await small.value("heal");
    await small.value("install", "platform-ent", "1.1.0");
    expect(await small.onDisk()).toBe("1.1.0");
  });

  test("nothing of the host but our repository is asked", async () => {
    const from = repository.asked.length;
    await host.value("refresh");
    expect(repository.asked.slice(from).every((path) => path.startsWith("/good/"))).toBe(true);
    expect(repository.asked.length).toBeGreaterThan(from);
  });
});
