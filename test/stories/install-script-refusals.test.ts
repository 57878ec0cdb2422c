import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { publishRepository } from "../../scripts/repository/publish.ts";
import type { Machine } from "../world/machine.ts";
import { clockEnv } from "../world/machine-clock.ts";
import { machineFixture } from "../world/machine-fixture.ts";
import { openPackageSite, openWorldSite } from "../world/package-site.ts";
import { packagedVersions as versions } from "../world/package-world.ts";
import { output } from "../world/program.ts";
import { rows } from "../world/rounds.ts";

const site = machineFixture(openWorldSite);
const managers = ["apt", "dnf", "zypper"] as const;

const script = (version: string, proxy: string, ...args: string[]): string[] => [
  "sh",
  "/tmp/install.sh",
  version,
  "enterprise",
  `--proxy=${proxy}`,
  ...args,
];
const ca = "--ca=/tmp/ca.pem";

/** What the script writes, or would. */
async function traces(machine: Machine): Promise<string> {
  const folders = "/etc/apt/keyrings /etc/apt/sources.list.d /etc/apt/apt.conf.d /etc/yum.repos.d /etc/zypp/repos.d /etc/pki /etc/platform-upgrade.d";
  const found = await machine.run([
    "sh",
    "-c",
    `find ${folders} -name '*platform*' -o -path '*platform-upgrade.d*'; ls -d /usr/bin/platform /etc/apt/platform.list; rpm -qa 'gpg-pubkey*' 'platform*'`,
  ]);
  return found.stdout;
}

async function refused(machine: Machine, args: readonly string[], env: Record<string, string> = {}) {
  const done = await machine.run(args, { env });
  return { status: done.status, said: done.stderr, traces: await traces(machine) };
}

test.for(rows(managers, ["dnf"]))("%s: a missing or untrusted source changes nothing", async (manager) => {
  await using machine = await site().machine({ manager });
  const wrongKey = `--key-fingerprint=${"0".repeat(40)}`;
  for (const [args, status, words] of [
    [script("1.0.77", site().proxy, ca), 5, "version 1.0.77 is not in the repository"],
    [script("9.0.0", site().proxy, ca), 5, "there is no channel stable/v9"],
    [script(versions.now, site().proxy), 3, `the certificate of ${site().proxy} is not trusted`],
    [script(versions.now, site().proxy, ca, wrongKey), 3, "has a different signing key"],
    [script(versions.now, "control.test:1", ca), 9, "could not reach control.test:1"],
    [script(versions.now, "nowhere.test", ca), 9, "could not reach nowhere.test"],
    [script(versions.now, site().proxy, ca, `--repository=https://${site().proxy}/packages/apt`), 9, "there is no repository at"],
  ] as const) {
    expect(await refused(machine, args)).toEqual({ status, said: expect.stringContaining(words), traces: "" });
  }
});

test.for(rows(managers, ["apt", "zypper"]))("%s: an index that another key has signed, or that was changed, is refused", async (manager) => {
  const gnupghome = await mkdtemp(join(site().dir, "gnupg-"));
  const gpg = ["--homedir", gnupghome, "--batch", "--quiet", "--passphrase", "", "--pinentry-mode", "loopback"];
  await output("gpg", [...gpg, "--quick-generate-key", "Mallory <mallory@test.invalid>", "rsa3072", "sign", "never"]);
  const mallory = join(site().dir, `${manager}-mallory`);
  await publishRepository({ packages: site().world.packages, out: mallory, keys: { gnupghome }, now: new Date() });
  await output("gpgconf", ["--homedir", gnupghome, "--kill", "all"]);
  await replace(join(mallory, "keys/platform.asc"), () => readFile(join(site().world.repository, "keys/platform.asc")));
  const changed = join(site().dir, `${manager}-changed`);
  await site().world.copyTo(changed);
  const index = manager === "apt" ? "apt/dists/stable/v1/InRelease" : `yum/stable/v1/${await arch()}/repodata/repomd.xml`;
  await replace(join(changed, index), async (bytes) =>
    Buffer.from(bytes.toString().replace(/Date: \w{3}|<revision>\d/, (text) => `${text.slice(0, -1)}9`)),
  );
  for (const repository of [mallory, changed]) {
    await using other = await openPackageSite(repository);
    await using client = await other.machine({ manager });
    const result = await refused(client, script(versions.now, other.proxy, ca));
    expect({ repository, ...result }).toEqual({ repository, status: 3, said: expect.stringContaining("signature is wrong"), traces: "" });
  }
});

async function arch(): Promise<string> {
  return (await readdir(join(site().world.repository, "yum/stable/v1")))[0] ?? "";
}

async function replace(file: string, change: (bytes: Buffer) => Promise<Buffer>): Promise<void> {
  const bytes = await change(await readFile(file));
  await rm(file);
  await writeFile(file, bytes);
}

test("a login page in the way is not a repository", async () => {
  const portal = join(site().dir, "portal");
  await output("mkdir", ["-p", join(portal, "keys")]);
  await writeFile(join(portal, "keys/platform.asc"), "<html>Please log in</html>\n");
  await using other = await openPackageSite(portal);
  await using machine = await other.machine({});
  const result = await refused(machine, script(versions.now, other.proxy, ca));
  expect(result).toEqual({ status: 9, said: expect.stringContaining("is there a login page"), traces: "" });
});

test("unsupported systems are refused before any change", async () => {
  await using machine = await site().machine({});
  await machine.output(["rm", "/etc/os-release"]);
  await machine.write("/etc/os-release", 'ID=alpine\nNAME="Alpine Linux"\n');
  const alpine = await refused(machine, script(versions.now, site().proxy, ca));
  expect(alpine).toEqual({ status: 11, said: expect.stringContaining('/etc/os-release says "alpine"'), traces: "" });
  await machine.write("/etc/os-release", "ID=linuxmint\nID_LIKE=ubuntu\n");
  await machine.write("/usr/local/bin/uname", '#!/bin/sh\n[ "$1" = -m ] && echo riscv64 || echo Linux\n', 0o755);
  const riscv = await refused(machine, script(versions.now, site().proxy, ca));
  expect(riscv).toEqual({ status: 11, said: expect.stringContaining("there are no packages for riscv64"), traces: "" });
});

test("an admin's hold is respected, and named", async () => {
  await using machine = await site().machine({});
  await machine.output(script(versions.now, site().proxy, ca));
  expect(await traces(machine)).toContain("/etc/apt/platform.list");
  await machine.output(["apt-mark", "hold", "platform-ent"]);
  const held = await machine.run(script(versions.next, site().proxy, ca));
  expect(held).toMatchObject({ status: 7, stderr: expect.stringContaining("apt-mark unhold platform-ent") });
  expect(await machine.output(["platform", "version"])).toContain(versions.now);
  await putsBack(machine, "/etc/apt/platform.list");
  await machine.output(["apt-mark", "unhold", "platform-ent"]);
  expect((await machine.run(script(versions.next, site().proxy, ca))).status).toBe(0);
  await using rocky = await site().machine({ manager: "dnf" });
  await rocky.output(script(versions.now, site().proxy, ca));
  await rocky.output(["dnf", "versionlock", "add", "platform-ent"]);
  const locked = await rocky.run(script(versions.next, site().proxy, ca));
  expect(locked).toMatchObject({ status: 7, stderr: expect.stringContaining("holds platform-ent") });
  await using suse = await site().machine({ manager: "zypper" });
  await suse.output(script(versions.now, site().proxy, ca));
  await suse.output(["zypper", "addlock", "platform-ent"]);
  const bound = await suse.run(script(versions.next, site().proxy, ca));
  expect(bound).toMatchObject({ status: 7, stderr: expect.stringContaining("holds platform-ent") });
});

/** A file that was there before is put back, and what it held is kept where that fails. */
async function putsBack(machine: Machine, file: string): Promise<void> {
  const before = "# of the admin\n";
  await machine.write(file, before);
  expect((await machine.run(script(versions.next, site().proxy, ca))).status).toBe(7);
  expect(await machine.output(["cat", file])).toBe(before);
  await machine.write("/usr/local/bin/cp", '#!/bin/sh\ncase $2 in */old.*) exit 1 ;; esac\nexec /bin/cp "$@"\n', 0o755);
  const failed = await machine.run(script(versions.next, site().proxy, ca));
  const [, kept = ""] = /could not put back \/etc\/apt\/platform\.list: what it held is in (\S+)/.exec(failed.stderr) ?? [];
  expect(await machine.output(["cat", kept])).toBe(before);
  await machine.output(["rm", "/usr/local/bin/cp"]);
}

test("a full disk leaves nothing half done", async () => {
  await using machine = await site().machine({ diskMb: 200 });
  await machine.leaveFree(30_000);
  const full = await refused(machine, script(versions.now, site().proxy, ca));
  expect(full).toEqual({ status: 1, said: expect.stringMatching(/space/), traces: "" });
});

test("a clock that is a year off is named", async () => {
  await using machine = await site().machine({});
  const result = await refused(machine, script(versions.now, site().proxy, ca), clockEnv("-400d"));
  expect(result).toEqual({ status: 3, said: expect.stringMatching(/clock|not yet valid/), traces: "" });
});
