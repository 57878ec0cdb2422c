import { expect, test } from "vitest";
import type { Machine } from "../world/machine.ts";
import { machineFixture } from "../world/machine-fixture.ts";
import { openWorldSite } from "../world/package-site.ts";
import { packagedVersions as versions } from "../world/package-world.ts";
import { rows } from "../world/rounds.ts";

const site = machineFixture(openWorldSite);

const script = (...args: string[]): string[] => ["sh", "/tmp/install.sh", ...args, `--proxy=${site().proxy}`, "--ca=/tmp/ca.pem"];
const endpoint = (machine: Machine): Promise<string> => machine.read("/etc/platform-upgrade.d/endpoint");

/** All that lies on the disk, but for logs and caches: path, size and time. */
async function disk(machine: Machine): Promise<string> {
  const skip = ["/var/log", "/var/cache", "/var/lib/apt/lists", "/var/lib/dnf", "/var/lib/zypp", "/tmp", "/var/tmp", "/var/lib/rpm"];
  const left = skip.flatMap((path) => ["-path", path, "-prune", "-o"]);
  const lines = await machine.output(["find", "/", "-xdev", ...left, "(", "-type", "f", "-o", "-type", "l", ")", "-printf", "%p %s %t\n"]);
  return lines.split("\n").sort().join("\n");
}

const [list, earlier] = ["/etc/apt/platform.list", "/etc/apt/sources.list.d/platform.list"];

/** Apt's own update does not ask our repository; a list that an earlier script left where it would is moved, and back for an earlier updater. */
async function asEarlier(machine: Machine): Promise<void> {
  const scripts = "/var/lib/dpkg/info/platform-ent-updater";
  const requests = site().server.asked.length;
  await machine.run(["apt-get", "update"]);
  expect(site().server.asked.length).toBe(requests);
  const there = async (): Promise<string> => await machine.output(["sh", "-c", `ls ${list} ${earlier} 2>/dev/null; true`]);
  expect(await there()).toBe(`${list}\n`);
  await machine.output([`${scripts}.prerm`, "upgrade", "0.9.0"]);
  expect(await there()).toBe(`${earlier}\n`);
  await machine.output([`${scripts}.postinst`, "configure", versions.now]);
  expect(await there()).toBe(`${list}\n`);
  await machine.output([`${scripts}.prerm`, "upgrade", "0.9.0"]);
}

test.for(rows(["apt", "dnf", "yum", "zypper"] as const, ["apt", "yum", "zypper"]))(
  "%s: exactly that version, twice without harm, then another edition and version",
  async (manager) => {
    await using machine = await site().machine({ manager });
    const first = await machine.run(script(versions.now, "enterprise", `--key-fingerprint=${site().world.fingerprint}`));
    expect(first).toMatchObject({ status: 0, stdout: "" });
    expect(first.stderr).toContain(`platform-ent and platform-ent-updater ${versions.now} are installed (stable/v1).`);
    expect(await machine.output(["platform", "version"])).toContain(versions.now);
    expect((await machine.run(["systemctl", "is-enabled", "platform", "platform-upgrade.timer"])).stdout).toBe("disabled\nenabled\n");
    expect((await machine.run(["systemctl", "is-active", "platform", "platform-upgrade.timer"])).stdout).toBe("inactive\nactive\n");
    expect(await endpoint(machine)).toBe(`${site().proxy}/v1/webapi/automaticupgrades/channel/default\n`);

    const before = await disk(machine);
    const again = await machine.run(script(versions.now, "enterprise"));
    expect(again.stderr).toContain("are installed already");
    expect({ status: again.status, disk: await disk(machine) }).toEqual({ status: 0, disk: before });

    if (manager === "apt") await asEarlier(machine);
    const other = await machine.run(script(`v${versions.next}`, "cloud"));
    expect(other).toMatchObject({ status: 0 });
    expect(other.stderr).toContain("updates ask the channel stable/cloud from now on, instead of default\n");
    expect(other.stderr).toContain(`platform-ent ${versions.now} is installed: changing it to ${versions.next}`);
    expect(await machine.output(["platform", "version"])).toContain(versions.next);
    expect(await endpoint(machine)).toBe(`${site().proxy}/v1/webapi/automaticupgrades/channel/stable/cloud\n`);

    if (manager === "apt") expect((await machine.run(["ls", earlier])).status).not.toBe(0);

    const back = await machine.run(script(versions.now, "cloud"));
    expect({ status: back.status, said: back.stderr }).toMatchObject({ status: 0 });
    expect(await machine.output(["platform", "version"])).toContain(versions.now);
  },
);

test.for(rows(["apt", "dnf", "zypper"] as const, ["zypper"]))("%s: --dry-run prints each file and command, and does nothing", async (manager) => {
  await using machine = await site().machine({ manager });
  const before = await disk(machine);
  const { asked } = site().server;
  const requests = asked.length;
  const dry = await machine.run(script(versions.now, "cloud", "--dry-run"), { user: "nobody" });
  expect(dry).toMatchObject({ status: 0, stderr: "" });
  expect(dry.stdout).toMatch(new RegExp(`^sudo .*install.* platform-ent[=-]${versions.now} platform-ent-updater[=-]${versions.now}$`, "m"));
  expect(dry.stdout).toContain("write /etc/platform-upgrade.d/endpoint\n");
  expect(await disk(machine)).toBe(before);
  expect(asked.length).toBe(requests);
});

test("nothing else on the host moves our packages afterwards: apt, dnf and zypper upgrades leave them", async () => {
  for (const [manager, upgrade] of [
    ["apt", ["apt-get", "-y", "dist-upgrade"]],
    ["dnf", ["dnf", "-y", "--enablerepo=*", "upgrade"]],
    ["zypper", ["zypper", "--non-interactive", "update"]],
  ] as const) {
    await using machine = await site().machine({ manager });
    await machine.output(script(versions.now, "enterprise"));
    await machine.run(upgrade);
    expect(await machine.output(["platform", "version"])).toContain(versions.now);
  }
});

test("as an ordinary user with sudo, and with wget alone", async () => {
  await using machine = await site().machine({});
  await machine.output(["useradd", "--create-home", "ann"]);
  await machine.write("/etc/sudoers.d/ann", "ann ALL=(ALL) NOPASSWD: ALL\n", 0o440);
  await machine.output(["mv", "/usr/bin/curl", "/root/curl"]);
  const done = await machine.run(script(versions.now, "enterprise"), { user: "ann", env: { HOME: "/home/ann" } });
  expect({ status: done.status, said: done.stderr }).toEqual({ status: 0, said: expect.stringContaining("are installed") });
  expect(await machine.output(["platform", "version"])).toContain(versions.now);
  const missing = await machine.run(script("1.0.77", "enterprise"), { user: "ann" });
  expect({ status: missing.status, said: missing.stderr }).toMatchObject({ status: 5 });
});

test.for(["apt", "dnf"] as const)("%s: without systemd, as in an image that is being made", async (manager) => {
  await using machine = await site().machine({ manager });
  await machine.output([
    "sh",
    "-c",
    "mkdir /image && mount --bind / /image && mount -t proc proc /image/proc && mkdir -p /image/tmp && cp /tmp/install.sh /tmp/ca.pem /image/tmp/",
  ]);
  const done = await machine.run(["chroot", "/image", ...script(versions.now, "enterprise")]);
  expect({ status: done.status, said: done.stderr }).toEqual({ status: 0, said: expect.stringContaining("are installed") });
  expect(await machine.output(["chroot", "/image", "platform", "version"])).toContain(versions.now);
  expect((await machine.run(["systemctl", "is-active", "platform-upgrade.timer"])).stdout).toBe("inactive\n");
});

test("a package that an earlier attempt left half unpacked is put right", async () => {
  await using machine = await site().machine({});
  await machine.output(script(versions.now, "enterprise"));
  await machine.output([
    "sed",
    "-i",
    "/^Package: platform-ent-updater$/,/^$/s/^Status: .*/Status: install reinstreq half-installed/",
    "/var/lib/dpkg/status",
  ]);
  await machine.output(["sh", "-c", "rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin"]);
  expect((await machine.run(["apt-get", "check"])).stderr).toContain("needs to be reinstalled");
  const done = await machine.run(script(versions.now, "enterprise"));
  expect({ status: done.status, said: done.stderr }).toEqual({ status: 0, said: expect.stringContaining("are installed") });
  expect((await machine.run(["apt-get", "check"])).status).toBe(0);
});

test.for(["apt", "dnf"] as const)(
  "%s: killed at any moment, the next run ends it well; asked to stop, it takes back what it wrote",
  async (manager) => {
    await using machine = await site().machine({ manager });
    const before = await disk(machine);
    const asked = await machine.run(["timeout", "--signal=TERM", "0.2", ...script(versions.now, "enterprise")]);
    expect(asked.status).toBe(124);
    expect(await disk(machine)).toBe(before);
    for (const seconds of ["0.1", "0.3", "0.5", "0.7", "0.9", "1.2", "1.5", "1.8"]) {
      await machine.run(["timeout", "--signal=KILL", seconds, ...script(versions.now, "enterprise")]);
    }
    const done = await machine.run(script(versions.now, "enterprise"));
    expect({ status: done.status, said: done.stderr }).toEqual({ status: 0, said: expect.stringContaining("are installed") });
    expect(await machine.output(["platform", "version"])).toContain(versions.now);
  },
);
