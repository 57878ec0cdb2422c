import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { requireSameFolder } from "./same-folder.ts";

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
