import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rename, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, posix } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isImmutable, mediaType, openPackage, parsePackagePath } from "./package-file.ts";

describe("an open file", () => {
  let outside: string;
  let folder: string;
  beforeAll(async () => {
    outside = await mkdtemp(join(tmpdir(), "platform-packages-"));
    folder = join(outside, "packages");
    await mkdir(join(folder, "pool/.git"), { recursive: true });
    await mkdir(join(outside, "packages-of-others"));
    await writeFile(join(folder, "pool/a.deb"), "a");
    await writeFile(join(folder, "pool/.git/config"), "hidden");
    await writeFile(join(outside, "secret"), "secret");
    await writeFile(join(outside, "packages-of-others/x"), "x");
    await symlink("pool/a.deb", join(folder, "inside"));
    await symlink("../secret", join(folder, "out"));
    await symlink("/etc/passwd", join(folder, "passwd"));
    await symlink("..", join(folder, "up"));
    await symlink("../packages-of-others/x", join(folder, "neighbour"));
    await symlink("pool/.git/config", join(folder, "hidden"));
    await symlink("loop", join(folder, "loop"));
    execFileSync("sh", ["-c", `mkfifo "$0"`, join(folder, "pipe")]);
  });
  afterAll(async () => await rm(outside, { recursive: true, force: true }));

  const later = (): Date => new Date(Date.now() + 10_000);

  async function content(path: string, root = folder): Promise<string | undefined> {
    const file = await openPackage(root, path, later());
    if (file === undefined) return undefined;
    const text = await file.handle.readFile("utf8");
    await file.handle.close();
    return text;
  }

  describe("a file of packages", () => {
    test.for(["pool/a.deb", "inside"])("%s is opened", async (path) => {
      expect(await content(path)).toBe("a");
    });

    test.for(["", "pool", "none", "pool/a.deb/x", "pipe", "out", "passwd", "up/secret", "neighbour", "hidden", "loop", "x".repeat(300)])(
      "%s is none",
      async (path) => {
        expect(await content(path)).toBeUndefined();
      },
    );

    test("is found when the folder itself is a link, and none when there is no folder", async () => {
      await symlink("packages", join(outside, "current"));
      expect(await content("pool/a.deb", join(outside, "current"))).toBe("a");
      expect(await content("pool/a.deb", join(outside, "gone"))).toBeUndefined();
    });

    test("has another ETag and time when it was replaced by one of the same size and date", async () => {
      const path = join(folder, "index");
      const facts = async (now: Date): Promise<{ etag: string; modified: Date | undefined } | undefined> => {
        const file = await openPackage(folder, "index", now);
        await file?.handle.close();
        return file;
      };
      const put = async (text: string): Promise<void> => {
        await writeFile(`${path}.new`, text);
        await utimes(`${path}.new`, 1_000_000_000, 1_000_000_000);
        await rename(`${path}.new`, path);
      };
      await put("one");
      const first = await facts(later());
      expect(await facts(later())).toMatchObject({ etag: first?.etag, modified: first?.modified });
      await put("two");
      const second = await facts(later());
      expect(second?.etag).not.toBe(first?.etag);
      expect(second?.modified?.getTime()).toBeGreaterThan(1_000_000_000_000);
      expect((await facts(new Date()))?.modified).toBeUndefined();
    });
  });
});

describe("the path of a file", () => {
  test.for([
    ["apt/dists/stable/v1/InRelease", "apt/dists/stable/v1/InRelease"],
    ["keys/platform.asc", "keys/platform.asc"],
    ["apt/pool/main/p/platform-ent_1.0.0~rc.1%2Bb1_amd64.deb", "apt/pool/main/p/platform-ent_1.0.0~rc.1+b1_amd64.deb"],
    ["a%20b/c..d", "a b/c..d"],
    ["apt/./Packages", "apt/Packages"],
    ["//apt//%2e/Packages", "apt/Packages"],
  ] as const)("%s names a file", ([path, file]) => {
    expect(parsePackagePath(path)).toBe(file);
  });

  const bad = [
    "",
    "/",
    "a/",
    "..",
    "../x",
    "a/../b",
    "a/.",
    "./..",
    "a/%2e%2e/b",
    "%2e%2e%2fx",
    "a%2fb",
    "a%5cb",
    "a\\b",
    ".git/config",
    "a/.htaccess",
    "%2ehidden",
    "a%00b",
    "%",
    "%ff",
    "a".repeat(1025),
  ];
  test.for(bad)("%j names none", (path) => {
    expect(parsePackagePath(path)).toBeUndefined();
  });

  test("no text names a file outside of the folder, or a hidden one", () => {
    const piece = fc.constantFrom("a", "/", "%2f", "%2F", "%5c", "\\", ".", "..", "%2e", "%252e", "%", "%00", "é", "~", ":");
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(piece, { maxLength: 10 }).map((all) => all.join("")),
        ),
        (path) => {
          const file = parsePackagePath(path);
          if (file === undefined) return;
          expect(posix.normalize(file)).toBe(file);
          expect(posix.resolve("/srv/p", file).startsWith("/srv/p/")).toBe(true);
          expect(`/${file}`).not.toContain("/.");
        },
      ),
    );
  });
});

describe("the media type of a file", () => {
  const hash = "0".repeat(64);
  test.for([
    ["apt/pool/main/p/platform-ent_1.0.0_amd64.deb", "application/vnd.debian.binary-package", true],
    ["yum/stable/v1/x86_64/platform-ent-1.0.0-1.x86_64.rpm", "application/x-rpm", true],
    [`apt/dists/stable/v1/main/binary-amd64/by-hash/SHA256/${hash}`, "application/octet-stream", true],
    [`yum/stable/v1/x86_64/repodata/${hash}-primary.xml.zst`, "application/zstd", true],
    ["yum/stable/v1/x86_64/repodata/repomd.xml", "application/xml", false],
    ["yum/stable/v1/x86_64/repodata/repomd.xml.asc", "application/pgp-signature", false],
    ["apt/dists/stable/v1/InRelease", "text/plain; charset=utf-8", false],
    ["apt/dists/stable/v1/Release.gpg", "application/pgp-signature", false],
    ["apt/dists/stable/v1/main/binary-amd64/Packages.xz", "application/x-xz", false],
    ["apt/dists/stable/v1/main/binary-amd64/Packages", "text/plain; charset=utf-8", false],
    ["keys/platform.asc", "application/pgp-keys", false],
    ["index.html", "application/octet-stream", false],
    ["x.svg", "application/octet-stream", false],
    ["constructor", "application/octet-stream", false],
  ] as const)("%s is %s", ([path, type, immutable]) => {
    expect(mediaType(path)).toBe(type);
    expect(isImmutable(path)).toBe(immutable);
  });
});
