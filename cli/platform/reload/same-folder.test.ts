import { mkdir, mkdtemp, rename, rm, stat, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openDataFolder, requireSameFolder } from "./same-folder.ts";

let dir = "";
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "platform-folder-"));
  await mkdir(join(dir, "moved"));
  await symlink(join(dir, "moved"), join(dir, "before"));
});
afterAll(async () => await rm(dir, { recursive: true }));

test.for([
  ["the same folder", "moved", "moved"],
  ["the same folder in other words", "moved", "moved/"],
  ["a link to it", "before", "moved"],
  ["one that does not exist yet, of the same name", "new", "new/"],
] as const)("%s is taken", async ([, before, now]) => {
  await requireSameFolder({ dataDir: `${dir}/${before}` }, `${dir}/${now}`);
});

test("a start, and a process of an earlier version, name none", async () => {
  await requireSameFolder(undefined, dir);
  await requireSameFolder({}, dir);
});

test.for(["moved", "new"])("another folder is refused in words (%s)", async (now) => {
  const refused = requireSameFolder({ dataDir: dir }, join(dir, now));
  await expect(refused).rejects.toMatchObject({
    code: "invalid",
    message: expect.stringMatching(/cannot change platform\.data_dir from .* to .*: stop/),
  });
});

test("by the folder at the start: a link that was turned since is refused", async () => {
  await mkdir(join(dir, "first"));
  await mkdir(join(dir, "second"));
  await symlink(join(dir, "first"), join(dir, "turned"));
  const running = await openDataFolder(join(dir, "turned"));
  await requireSameFolder(running, join(dir, "turned"));
  await symlink(join(dir, "second"), join(dir, "next"));
  await rename(join(dir, "next"), join(dir, "turned"));
  await expect(requireSameFolder(running, join(dir, "turned"))).rejects.toMatchObject({
    code: "invalid",
    message: expect.stringContaining("leads to another folder than when the running process started"),
  });
  // The running process would go on in the other one.
  await expect(requireSameFolder(running, join(dir, "first"))).rejects.toMatchObject({ code: "invalid" });
});

test("a folder that is not there at the start is made, for its owner alone; one that cannot be made is known by its path", async () => {
  const { folder } = await openDataFolder(join(dir, "fresh", "data"));
  const { mode, dev, ino } = await stat(join(dir, "fresh", "data"));
  expect([mode & 0o777, folder]).toEqual([0o700, `${dev}:${ino}`]);
  expect(await openDataFolder("/dev/null/data")).toEqual({ dataDir: "/dev/null/data" });
});

test("the folder at another place is taken as long as the running process finds it at its own, too", async () => {
  await mkdir(join(dir, "own"));
  const running = await openDataFolder(join(dir, "own"));
  await rename(join(dir, "own"), join(dir, "its-new-place"));
  await expect(requireSameFolder(running, join(dir, "its-new-place"))).rejects.toMatchObject({ message: expect.stringContaining("cannot change") });
  await symlink(join(dir, "its-new-place"), join(dir, "own"));
  await requireSameFolder(running, join(dir, "its-new-place"));
});
