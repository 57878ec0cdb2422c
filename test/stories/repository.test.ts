import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { copyRepository } from "../../scripts/repository/copy-out.ts";
import { type Published, type PublishRequest, publishRepository } from "../../scripts/repository/publish.ts";
import { hasProgram } from "../world/has-program.ts";
import { startMachine } from "../world/machine.ts";
import type { MachineManager } from "../world/machine-options.ts";
import { machinesSkip } from "../world/machine-skip.ts";
import { PackageManager } from "../world/package-commands.ts";
import { output, run } from "../world/program.ts";
import { rows } from "../world/rounds.ts";
import { makeTestKey, packStandIns } from "../world/stand-in-packages.ts";

/** Signed repositories: what is published, in which order readers see it, and how keys are changed. */

const missing = ["gpg", "gpgv", "apt-ftparchive", "createrepo_c", "rpmbuild", "rpmsign"].filter((name) => !hasProgram(name));
beforeEach(({ skip }) => skip(missing.length > 0, `needs ${missing.join(", ")}`));

let dir = "";
const gnupghome = (): string => join(dir, "gnupg");
let [oldKey, newKey] = ["", ""];
const packs: Record<string, string> = {};
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "platform-repository-"));
  if (missing.length > 0) return;
  oldKey = await makeTestKey(gnupghome(), "Old Key");
  newKey = await makeTestKey(gnupghome(), "New Key");
  for (const version of ["1.0.0", "1.1.0", "1.2.0-rc.1", "2.0.0"]) {
    const pack = join(dir, `packages-${version}`);
    await packStandIns({ work: join(dir, "programs", version), out: pack, version });
    packs[version] = pack;
  }
});
afterAll(async () => {
  if (missing.length === 0) await output("gpgconf", ["--homedir", gnupghome(), "--kill", "all"]);
  await rm(dir, { recursive: true, force: true });
});

let made = 0;
function newFolder(): string {
  made += 1;
  return join(dir, `repository-${made}`);
}

interface Publication extends Partial<Omit<PublishRequest, "keys" | "packages">> {
  readonly out: string;
  readonly version?: string;
  readonly sign?: readonly string[];
}

async function publish({ version, sign, ...rest }: Publication): Promise<Published> {
  const packages = version === undefined ? undefined : packs[version];
  const keys = { gnupghome: gnupghome(), signWith: sign ?? [oldKey] };
  return await publishRepository({ now: new Date(), keys, ...rest, ...(packages !== undefined && { packages }) });
}

async function offered(out: string, channel: string): Promise<string[]> {
  const packages = await readFile(join(out, "apt/dists", channel, "main/binary-amd64/Packages"), "utf8");
  return [...packages.matchAll(/^Package: (\S+)\n(?:.+\n)*?Version: (\S+)/gm)].map(([, name, version]) => `${name} ${version}`).sort();
}

async function rpms(out: string, channel: string): Promise<string[]> {
  const folder = join("yum", channel, "x86_64/Packages");
  return (await readdir(join(out, folder), { recursive: true })).filter((name) => name.endsWith(".rpm")).map((name) => join(folder, name));
}

test("each version is in its major's channel and in the cloud's, and stays when others come", async () => {
  const out = newFolder();
  for (const version of ["1.0.0", "2.0.0", "1.1.0"]) await publish({ out, version });
  expect(await offered(out, "stable/v2")).toEqual(["platform-ent 2.0.0", "platform-ent-updater 2.0.0"]);
  const both = (version: string): string[] => [`platform-ent ${version}`, `platform-ent-updater ${version}`];
  expect(await offered(out, "stable/v1")).toEqual([...both("1.0.0"), ...both("1.1.0")].sort());
  expect(await offered(out, "stable/cloud")).toEqual([...both("1.0.0"), ...both("1.1.0"), ...both("2.0.0")].sort());
  const updaters = (await rpms(out, "stable/cloud")).map((path) => basename(path)).filter((name) => name.startsWith("platform-ent-updater"));
  expect(updaters.sort()).toEqual(["1.0.0", "1.1.0", "2.0.0"].map((version) => `platform-ent-updater-${version}-1.x86_64.rpm`));
});

test("pre-releases only when they are wanted, channels only those that are named", async () => {
  const out = newFolder();
  await publish({ out, version: "1.0.0" });
  expect((await publish({ out, version: "1.2.0-rc.1" })).left).toHaveLength(4);
  expect(await offered(out, "stable/v1")).toHaveLength(2);
  await publish({ out, version: "1.2.0-rc.1", prereleases: true, channels: ["stable/cloud"] });
  expect(await offered(out, "stable/v1")).toHaveLength(2);
  expect(await offered(out, "stable/cloud")).toContain("platform-ent 1.2.0~rc.1");
});

test("a version that was published cannot become another", async () => {
  const out = newFolder();
  await publish({ out, version: "1.0.0" });
  const changed = join(dir, "changed");
  await packStandIns({ work: join(dir, "programs", "changed"), out: changed, version: "1.0.0" });
  const same = await publishRepository({ out, packages: changed, keys: { gnupghome: gnupghome(), signWith: [oldKey] }, now: new Date() });
  expect(same.channels["stable/v1"]).toBe(4);
  await mkdir(join(dir, "broken"));
  for (const name of await readdir(changed))
    await writeFile(join(dir, "broken", name), await readFile(join(packs["1.1.0"] ?? "", name.replace("1.0.0", "1.1.0"))));
  const before = await realpath(join(out, "apt"));
  const broken = publishRepository({ out, packages: join(dir, "broken"), keys: { gnupghome: gnupghome(), signWith: [oldKey] }, now: new Date() });
  await expect(broken).rejects.toThrow(/published already with another content/);
  expect(await realpath(join(out, "apt"))).toBe(before);
});

test("a key with a passphrase is noticed before any work, and signs with it", async () => {
  const home = join(dir, "locked");
  await mkdir(home, { mode: 0o700 });
  const gpg = (...args: string[]) =>
    output("gpg", ["--homedir", home, "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", "open", ...args]);
  await gpg("--quick-generate-key", "Locked <packages@example.test>", "rsa3072", "sign", "never");
  const key = join(dir, "locked.key");
  await gpg("--output", key, "--export-secret-keys");
  await output("gpgconf", ["--homedir", home, "--kill", "all"]);
  const out = newFolder();
  const passphraseFile = join(dir, "passphrase");
  const to = (keys: PublishRequest["keys"]) => publishRepository({ out, packages: packs["1.0.0"] ?? "", keys, now: new Date() });
  await expect(to({ key })).rejects.toThrow(/in .*locked\.key has a passphrase: .*--passphrase-file FILE/);
  await writeFile(passphraseFile, "shut\n");
  await expect(to({ key, passphraseFile })).rejects.toThrow(/another passphrase than the one in .*passphrase/);
  expect(await readdir(join(out, "published"))).toEqual([]);
  await writeFile(passphraseFile, "open\n");
  expect((await to({ key, passphraseFile })).channels["stable/v1"]).toBe(4);
});

test("a published copy has each file once, continues from link to link, and drops old files", async ({ skip }) => {
  skip(!hasProgram("rsync"), "needs rsync");
  const [out, to] = [newFolder(), newFolder()];
  const size = async (folder: string): Promise<number> => Number((await output("du", ["-s", "--block-size=1", folder])).split("\t")[0]);
  for (const version of ["1.0.0", "1.1.0", "2.0.0", undefined]) {
    await publish({ out, ...(version !== undefined && { version }) });
    await copyRepository(out, to);
    expect(await readdir(join(to, "published"))).toEqual((await readdir(join(out, "published"))).filter((name) => name !== "lock"));
    expect(await realpath(join(to, "apt"))).toBe((await realpath(join(out, "apt"))).replace(out, to));
  }
  expect(await offered(to, "stable/cloud")).toHaveLength(6);
  expect(Math.abs((await size(to)) - (await size(out)))).toBeLessThan(100_000);
  await expect(copyRepository(join(dir, "nothing"), to)).rejects.toThrow("is not a repository");
  await expect(copyRepository(out, "nobody@127.0.0.1:/nowhere")).rejects.toThrow("could not copy to nobody@127.0.0.1:/nowhere");
});

test("two runs at once: the second one is refused", async () => {
  const out = newFolder();
  const both = await Promise.allSettled([publish({ out, version: "1.0.0" }), publish({ out, version: "1.1.0" })]);
  expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  expect(String(both.find((one) => one.status === "rejected")?.reason)).toContain("another run publishes");
  await publish({ out, version: "1.1.0" });
});

test("a reader never sees half a publication, and finds the index of the one before by its hash", async () => {
  const out = newFolder();
  await publish({ out, version: "1.0.0" });
  await writeFile(join(dir, "trusted.gpg"), (await run("gpg", ["--homedir", gnupghome(), "--export"])).raw);
  const signed = (file: string, data: string[]): Promise<string> => output("gpgv", ["--keyring", join(dir, "trusted.gpg"), file, ...data]);
  let publishing = true;
  const writer = (async () => {
    for (const version of ["1.1.0", "2.0.0"]) await publish({ out, version });
    publishing = false;
  })();
  const seen = new Set<string>();
  for (let last = false; !last; ) {
    last = !publishing;
    const [apt, yum] = [await realpath(join(out, "apt")), await realpath(join(out, "yum"))];
    const suite = join(apt, "dists/stable/v1");
    const release = await readFile(join(suite, "InRelease"), "utf8");
    const hash = / ([0-9a-f]{64}) +\d+ main\/binary-amd64\/Packages\n/.exec(release)?.[1] ?? "";
    const packages = await readFile(join(suite, "main/binary-amd64/Packages"));
    expect(createHash("sha256").update(packages).digest("hex")).toBe(hash);
    const repodata = join(yum, "stable/v1/x86_64/repodata");
    await signed(join(repodata, "repomd.xml.asc"), [join(repodata, "repomd.xml")]);
    await signed(join(suite, "InRelease"), []);
    seen.add(hash);
  }
  await writer;
  expect(seen.size).toBeGreaterThan(1);
  for (const hash of seen) await readFile(join(out, "apt/dists/stable/v1/main/binary-amd64/by-hash/SHA256", hash));
});

test("a re-signed rpm has a new address, and the old one stays for downloads that have begun", async () => {
  const out = newFolder();
  await publish({ out, version: "1.0.0" });
  const before = await realpath(join(out, "yum"));
  const [first = ""] = await rpms(out, "stable/v1");
  const bytes = await readFile(join(out, first));
  await publish({ out, sign: [newKey] });
  expect((await readFile(join(before, "..", first))).equals(bytes)).toBe(true);
  const again = await rpms(out, "stable/v1");
  expect(again).toHaveLength(2);
  expect(again).not.toContain(first);
  await publish({ out, sign: [newKey, oldKey] });
  expect(await rpms(out, "stable/v1")).toEqual(again);
});

test("apt refuses an index whose time is over; another run makes a new one", async ({ skip }) => {
  skip(machinesSkip !== undefined, machinesSkip);
  const out = newFolder();
  const day = 24 * 3_600_000;
  await publish({ out, version: "1.0.0", now: new Date(Date.now() - 15 * day) });
  await using machine = await startMachine({ binds: { [out]: "/repository" } });
  const packages = new PackageManager(machine);
  await expect(packages.addRepository()).rejects.toThrow(/expired|not valid/i);
  await publish({ out });
  await packages.refresh();
  await packages.install("1.0.0");
});

describe.each(rows<MachineManager>(["apt", "dnf", "zypper"], ["apt", "zypper"]))("%s:", (manager) => {
  test("keys are changed with no host left behind", async ({ skip }) => {
    skip(machinesSkip !== undefined, machinesSkip);
    const out = newFolder();
    const binds = { [out]: "/repository" };
    await publish({ out, version: "1.0.0" });
    // The keys file names the new key from the first day; this host has the old one alone.
    await onlyKey(out, oldKey);
    await using host = await startMachine({ manager, binds });
    const packages = new PackageManager(host);
    await packages.addRepository();
    await packages.install("1.0.0");
    await publish({ out, version: "1.1.0", sign: [oldKey, newKey] });
    await packages.refresh();
    await packages.install("1.1.0");
    await packages.trustKeys();
    await packages.refresh();
    await publish({ out, sign: [newKey] });
    await packages.refresh();
    await packages.install("1.0.0");
    await onlyKey(out, newKey);
    await using later = await startMachine({ manager, binds });
    const fresh = new PackageManager(later);
    await fresh.addRepository();
    await fresh.install("1.1.0");
    await fresh.install("1.0.0");
    await onlyKey(out, oldKey);
    await using left = await startMachine({ manager, binds });
    await expect(new PackageManager(left).addRepository()).rejects.toThrow();
  });
});

/** What an admin who fetched the keys at another time has. */
async function onlyKey(out: string, fingerprint: string): Promise<void> {
  const armored = await output("gpg", ["--homedir", gnupghome(), "--armor", "--export", fingerprint]);
  await writeFile(join(resolve(out), "keys/platform.asc"), armored);
}
