import { createHash } from "node:crypto";
import { cp, lstat, mkdir, mkdtemp, readdir, readFile, readlink, realpath, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { publishRepository } from "../../scripts/repository/publish.ts";
import { hasProgram } from "../world/has-program.ts";
import { output } from "../world/program.ts";
import { makeTestKey, packStandIns } from "../world/stand-in-packages.ts";

/** Repositories among symbolic links, and after runs that failed in the middle. */

const missing = ["gpg", "apt-ftparchive", "createrepo_c", "rpmbuild", "rpmsign"].filter((name) => !hasProgram(name));
beforeEach(({ skip }) => skip(missing.length > 0, `needs ${missing.join(", ")}`));

let dir = "";
let key = "";
const packs: Record<string, string> = {};
beforeAll(async () => {
  dir = await realpath(await mkdtemp(join(tmpdir(), "platform-repository-links-")));
  if (missing.length > 0) return;
  key = await makeTestKey(join(dir, "gnupg"), "Key");
  for (const version of ["1.0.0", "1.1.0"]) {
    packs[version] = join(dir, `packages-${version}`);
    await packStandIns({ work: join(dir, "programs", version), out: packs[version], version });
  }
});
afterAll(async () => {
  if (missing.length === 0) await output("gpgconf", ["--homedir", join(dir, "gnupg"), "--kill", "all"]);
  await rm(dir, { recursive: true, force: true });
});

let made = 0;
async function newFolder(): Promise<string> {
  made += 1;
  const folder = join(dir, `folder-${made}`);
  await mkdir(folder);
  return folder;
}

const publish = async (out: string, packages?: string) =>
  await publishRepository({ out, keys: { gnupghome: join(dir, "gnupg"), signWith: [key] }, now: new Date(), ...(packages && { packages }) });

/** Everything in a folder: kinds and contents of files, targets of links. */
async function contents(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true, withFileTypes: true });
  const lines = names.map(async (entry) => {
    const path = join(entry.parentPath, entry.name);
    if (entry.isSymbolicLink()) return `${path} -> ${await readlink(path)}`;
    return entry.isFile() ? `${path} ${(await readFile(path)).toString("base64url")}` : path;
  });
  return (await Promise.all(lines)).sort();
}

const versions = async (out: string): Promise<string[]> => {
  const text = await readFile(join(out, "apt/dists/stable/v1/main/binary-amd64/Packages"), "utf8");
  return [...new Set([...text.matchAll(/^Version: (\S+)$/gm)].map(([, version]) => version ?? ""))].sort();
};

test("dist, the repository's own folder, the packages' folder and single packages may be links, also when it runs again", async () => {
  const [disk, home] = [await newFolder(), await newFolder()];
  await mkdir(join(disk, "elsewhere"));
  await symlink(disk, join(home, "dist"));
  await symlink(join(disk, "elsewhere"), join(disk, "repository"));
  const out = join(home, "dist/repository");
  await symlink(packs["1.0.0"] ?? "", join(home, "packages"));
  await publish(out, join(home, "packages"));
  const linked = await newFolder();
  for (const name of await readdir(packs["1.1.0"] ?? "")) await symlink(join(packs["1.1.0"] ?? "", name), join(linked, name));
  await publish(out, linked);
  await publish(out);
  expect(await versions(out)).toEqual(["1.0.0", "1.1.0"]);
  // What is published are files, whatever the packages were.
  const own = await readdir(join(out, "published"), { recursive: true, withFileTypes: true });
  expect(own.filter((entry) => entry.isSymbolicLink())).toEqual([]);
});

test("an image whose blobs are links is published as files", async () => {
  const [out, packages, cache] = [await newFolder(), await newFolder(), await newFolder()];
  const blobs = join(packages, "platform-ent-1.0.0.oci/blobs/sha256");
  await mkdir(blobs, { recursive: true });
  const blob = async (value: object, mediaType: string) => {
    const bytes = JSON.stringify(value);
    const hex = createHash("sha256").update(bytes).digest("hex");
    await writeFile(join(cache, hex), bytes);
    await symlink(join(cache, hex), join(blobs, hex));
    return { mediaType, digest: `sha256:${hex}`, size: bytes.length };
  };
  const config = await blob({ os: "linux" }, "application/vnd.oci.image.config.v1+json");
  const type = "application/vnd.oci.image.manifest.v1+json";
  const manifest = await blob({ schemaVersion: 2, mediaType: type, config, layers: [] }, type);
  const annotations = { "org.opencontainers.image.ref.name": "1.0.0" };
  await writeFile(join(blobs, "../../index.json"), JSON.stringify({ schemaVersion: 2, manifests: [{ ...manifest, annotations }] }));
  await publish(out, packages);
  const published = join(out, "oci/platform-ent/blobs/sha256");
  expect((await readdir(published)).sort()).toEqual((await readdir(cache)).sort());
  for (const name of await readdir(published)) expect((await lstat(join(published, name))).isFile(), name).toBe(true);
});

test("a link in the place of the publications is not followed", async () => {
  const [out, elsewhere] = [await newFolder(), await newFolder()];
  await mkdir(join(elsewhere, "1-1"));
  await writeFile(join(elsewhere, "1-1/file"), "kept");
  await symlink(elsewhere, join(out, "published"));
  const before = await contents(elsewhere);
  await expect(publish(out, packs["1.0.0"])).rejects.toThrow(/published is a link to .*folder-/);
  expect(await contents(elsewhere)).toEqual(before);
});

test.for<readonly [name: string, part: string, spoil: (out: string, elsewhere: string) => Promise<void>]>([
  ["an absolute link", "apt", async (out, elsewhere) => await symlink(join(elsewhere, "1-1/apt"), join(out, "apt"))],
  ["a link that leads out", "apt", async (out) => await symlink("../elsewhere/1-1/apt", join(out, "apt"))],
  ["a link to another part", "oci", async (out) => await symlink((await readlink(join(out, "apt"))).replace(/apt$/, "../.."), join(out, "oci"))],
  ["a folder", "yum", async (out) => await mkdir(join(out, "yum"))],
])("%s in the place of what is served is refused before anything is written", async ([, part, spoil]) => {
  const [out, elsewhere] = [await newFolder(), await newFolder()];
  await publish(out, packs["1.0.0"]);
  await rm(join(out, part));
  await spoil(out, elsewhere);
  const before = await contents(out);
  await expect(publish(out, packs["1.1.0"])).rejects.toThrow(new RegExp(`${part} (is not a link|leads to)`));
  expect(await contents(out)).toEqual(before);
  expect(await contents(elsewhere)).toEqual([]);
});

test("a run that fails while it switches leaves readers what they had, and the next one completes it", async () => {
  const out = await newFolder();
  await publish(out, packs["1.0.0"]);
  const before = await contents(out);
  await mkdir(join(out, "oci.new/in the way"), { recursive: true });
  await expect(publish(out, packs["1.1.0"])).rejects.toThrow(/oci\.new/);
  await rm(join(out, "oci.new"), { recursive: true });
  expect(await contents(out)).toEqual(before);
  await publish(out, packs["1.1.0"]);
  expect(await versions(out)).toEqual(["1.0.0", "1.1.0"]);
});

test("a first run that fails while it switches leaves no links", async () => {
  const out = await newFolder();
  await mkdir(join(out, "oci.new/in the way"), { recursive: true });
  await expect(publish(out, packs["1.0.0"])).rejects.toThrow(/oci\.new/);
  await rm(join(out, "oci.new"), { recursive: true });
  expect(await readdir(out)).toEqual(["published"]);
  await publish(out, packs["1.0.0"]);
  expect(await versions(out)).toEqual(["1.0.0"]);
});

test("a run that was cut between two links, or before them, is completed by the next one, with all versions", async () => {
  const out = await newFolder();
  await publish(out, packs["1.0.0"]);
  const first = await readlink(join(out, "yum"));
  await publish(out, packs["1.1.0"]);
  for (const part of ["yum", "client", "charts", "oci"]) {
    await rm(join(out, part));
    await symlink(first.replace(/yum$/, part), join(out, part));
  }
  const [cut] = (await readlink(join(out, "apt"))).split("/apt");
  await cp(join(out, cut ?? "", "keys"), join(out, "published/99999999999999-1/keys"), { recursive: true });
  await publish(out);
  expect(await versions(out)).toEqual(["1.0.0", "1.1.0"]);
  expect(new Set(await Promise.all(["apt", "yum", "oci"].map(async (part) => (await readlink(join(out, part))).split("/")[1]))).size).toBe(1);
  expect(await readdir(join(out, "published"))).toHaveLength(2);
  await rm(join(out, "apt"));
  await publish(out);
  expect(await versions(out)).toEqual(["1.0.0", "1.1.0"]);
});

test("a publication whose list or a package of it is lost is not taken for one without them", async () => {
  const out = await newFolder();
  await publish(out, packs["1.0.0"]);
  const now = join(out, await readlink(join(out, "apt")), "..");
  const list = await readFile(join(now, "members.json"), "utf8");
  await writeFile(join(now, "members.json"), list.slice(0, 40));
  await expect(publish(out, packs["1.1.0"])).rejects.toThrow(/could not read .*members\.json/);
  await writeFile(join(now, "members.json"), list);
  const [file = ""] = (await readdir(join(now, "apt/pool"), { recursive: true })).filter((name) => name.endsWith(".deb"));
  await rename(join(now, "apt/pool", file), join(out, "lost.deb"));
  await expect(publish(out, packs["1.1.0"])).rejects.toThrow(/could not keep .*\.deb, which is published/);
  await rename(join(out, "lost.deb"), join(now, "apt/pool", file));
  await publish(out, packs["1.1.0"]);
  expect(await versions(out)).toEqual(["1.0.0", "1.1.0"]);
  expect((await lstat(join(out, "apt"))).isSymbolicLink()).toBe(true);
});
