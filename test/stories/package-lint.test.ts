import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makePackages, type PackagesRequest } from "../../scripts/package/make-packages.ts";
import { hasProgram } from "../world/has-program.ts";
import { dist, output, program, run } from "../world/program.ts";

/** The packages themselves, with the built executables: what the distributions' checkers say, what is in them, the same each time. */

const root = resolve(import.meta.dirname, "../..");
const canPack = hasProgram("rpmbuild") && hasProgram("dpkg-deb");
const epoch = 1_790_000_000;
const platform = program("platform");
let dir = "";
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "platform-package-lint-"));
  if (canPack) await pack(join(dir, "first"));
});
afterAll(async () => {
  await rm(dir, { recursive: true, force: true });
});

async function pack(out: string, changes: Partial<PackagesRequest> = {}): Promise<void> {
  const programs = { executable: platform, updater: join(dist, "platform-upgrade"), pty: join(dist, "pty.node") };
  const arch = process.arch === "arm64" ? "arm64" : "x64";
  await makePackages({ root, out, version: "1.0.0", arch, formats: ["deb", "rpm"], fast: true, epoch, ...programs, ...changes });
}

async function made(folder: string, extension: string): Promise<string[]> {
  return (await readdir(folder)).filter((name) => name.endsWith(extension)).map((name) => join(folder, name));
}

describe.skipIf(!canPack)("packages", () => {
  test("are the same to the byte when they are made again", async () => {
    await pack(join(dir, "second"));
    const names = await readdir(join(dir, "first"));
    expect(names).toHaveLength(4);
    for (const name of names) {
      const [first, second] = await Promise.all(["first", "second"].map((folder) => readFile(join(dir, folder, name))));
      expect([name, first?.equals(second ?? Buffer.alloc(0))]).toEqual([name, true]);
    }
  });

  test("hold the executables as they were built, root's, and no configuration of the platform", async () => {
    const [agent] = (await made(join(dir, "first"), ".deb")).filter((file) => file.includes("platform-ent_"));
    const listing = await output("dpkg-deb", ["--contents", agent ?? ""]);
    expect(listing).not.toContain("platform.yaml");
    for (const line of listing.trim().split("\n")) expect(line).toMatch(/^(-rwxr-xr-x|-rw-r--r--|drwxr-xr-x|lrwxrwxrwx) root\/root /);
    await output("dpkg-deb", ["--extract", agent ?? "", join(dir, "extracted")]);
    expect((await readFile(join(dir, "extracted/usr/bin/platform"))).equals(await readFile(platform))).toBe(true);
    expect(await output(join(dir, "extracted/usr/bin/tctl"), ["version"])).toMatch(/^tctl /);
    for (const file of await made(join(dir, "first"), ".rpm")) {
      const owners = await output("rpm", ["-qp", "--nosignature", "--qf", "[%{FILEUSERNAME}:%{FILEGROUPNAME}\n]", file]);
      expect(new Set(owners.trim().split("\n"))).toEqual(new Set(["root:root"]));
    }
  });

  test.skipIf(!hasProgram("lintian"))("lintian reports nothing except overrides with a reason", { timeout: 400_000 }, async () => {
    for (const file of await made(join(dir, "first"), ".deb")) {
      // Packed with zstd, because this one is for a test: lintian of Debian 12 does not know it.
      const done = await run("lintian", ["--allow-root", "--fail-on", "error,warning", "--suppress-tags", "malformed-deb-archive", file], {
        limitMs: 170_000,
      });
      expect(done).toMatchObject({ status: 0, stdout: "" });
    }
  });

  test.skipIf(!hasProgram("lintian"))("packed as for a release, lintian reads them", async () => {
    const out = join(dir, "slow");
    // Small files: what counts is the form of the archive.
    const small = join(root, "LICENSE");
    await pack(out, { fast: false, executable: small, updater: small, pty: small });
    for (const file of await made(out, ".deb")) {
      const done = await run("lintian", ["--allow-root", "--tags", "malformed-deb-archive", file], { limitMs: 170_000 });
      expect(done).toMatchObject({ status: 0, stdout: "" });
    }
  });

  test.skipIf(!hasProgram("rpmlint"))("rpmlint reports nothing except filters with a reason", async () => {
    const done = await run("rpmlint", ["-r", join(root, "packaging/rpm/rpmlintrc"), ...(await made(join(dir, "first"), ".rpm"))]);
    expect(done.stdout).toContain("0 errors, 0 warnings");
  });

  test.skipIf(!hasProgram("shellcheck"))("the maintainer scripts are clean POSIX shell", async () => {
    for (const format of ["deb", "rpm"]) {
      for (const name of ["platform-ent", "platform-ent-updater"]) {
        const folder = join(root, "packaging", format, name);
        const scripts = (await readdir(folder)).map((script) => join(folder, script));
        expect(await run("shellcheck", ["--shell=sh", ...scripts])).toMatchObject({ status: 0, stdout: "" });
      }
    }
    expect(await run("shellcheck", [join(root, "packaging/restore-updater")])).toMatchObject({ status: 0, stdout: "" });
  });

  test("every exception of the checkers has its reason above it", async () => {
    for (const file of ["deb/platform-ent.lintian-overrides", "deb/platform-ent-updater.lintian-overrides", "rpm/rpmlintrc"]) {
      const lines = (await readFile(join(root, "packaging", file), "utf8")).trim().split("\n");
      lines.forEach((line, at) => {
        const reasoned = line.startsWith("#") || line === "" || lines.slice(0, at).findLast((before) => before === "" || before.startsWith("#"));
        expect([file, line, Boolean(reasoned)]).toEqual([file, line, true]);
      });
    }
  });
});
