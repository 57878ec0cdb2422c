import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rename, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openPackage } from "./open-package.ts";

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
