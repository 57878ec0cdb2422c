import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { editPrivateFile, maxEdited } from "./edit-private-file.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "platform-edit-"));
});
afterAll(async () => await rm(folder, { recursive: true }));

test("a missing file is created for its owner alone; every byte of an existing one survives", async () => {
  const path = join(folder, "a");
  expect(await editPrivateFile(path, (text) => `${text}new\n`)).toBe(true);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, code) => code));
  await writeFile(path, bytes);
  await chmod(path, 0o644);
  expect(await editPrivateFile(path, (text) => `${text}+`)).toBe(true);
  expect(await readFile(path)).toEqual(Buffer.concat([bytes, Buffer.from("+")]));
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  const { ino } = await stat(path);
  expect(await editPrivateFile(path, (text) => text)).toBe(false);
  expect((await stat(path)).ino).toBe(ino);
});

test("a link stays, and the file behind it changes", async () => {
  await mkdir(join(folder, "dotfiles"));
  await writeFile(join(folder, "dotfiles", "my.cnf"), "x");
  await symlink(join("dotfiles", "my.cnf"), join(folder, "link"));
  await editPrivateFile(join(folder, "link"), () => "y");
  expect((await lstat(join(folder, "link"))).isSymbolicLink()).toBe(true);
  expect(await readFile(join(folder, "dotfiles", "my.cnf"), "utf8")).toBe("y");
  expect(await readdir(join(folder, "dotfiles"))).toEqual(["my.cnf"]);
});

test("a change by another program meanwhile is kept; one that never ends is reported", async () => {
  const path = join(folder, "busy");
  const { writeFileSync } = await import("node:fs");
  let count = 0;
  const editor = (until: number) => (text: string) => {
    if (count++ < until) writeFileSync(path, `theirs ${count}\n${"x".repeat(count)}`);
    return `${text}ours`;
  };
  await editPrivateFile(path, editor(1));
  expect(await readFile(path, "utf8")).toBe("theirs 1\nxours");
  await expect(editPrivateFile(path, editor(1000))).rejects.toMatchObject({ code: "conflict" });
  expect((await readdir(folder)).filter((name) => name.endsWith(".new"))).toEqual([]);
});

test("a folder and a huge file are refused and stay as they are", async () => {
  await mkdir(join(folder, "dir"));
  await expect(editPrivateFile(join(folder, "dir"), () => "x")).rejects.toMatchObject({ code: "invalid" });
  await writeFile(join(folder, "huge"), Buffer.alloc(maxEdited + 1));
  await expect(editPrivateFile(join(folder, "huge"), () => "x")).rejects.toMatchObject({ code: "limit" });
  await expect(editPrivateFile(join(folder, "new"), () => "x".repeat(maxEdited + 1))).rejects.toMatchObject({ code: "limit" });
  await expect(editPrivateFile(join(folder, "none", "x"), () => "x")).rejects.toMatchObject({ code: "invalid" });
});
