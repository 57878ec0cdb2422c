import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmod, mkdtemp, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { fileStamp } from "./file-stamp.ts";

let folder = "";
let file = "";
let key = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "platform-stamp-"));
  [file, key] = [join(folder, "platform.yaml"), join(folder, "state", "stamp-key")];
});
afterEach(async () => await rm(folder, { recursive: true }));

const stampOf = (path = file): Promise<string | undefined> => fileStamp(path, key);

async function replaceBy(text: string): Promise<void> {
  await writeFile(`${file}.new`, text, { mode: 0o600 });
  await rename(`${file}.new`, file);
}

test("a stamp is another one for other contents, also of the same length, and for another mode", async () => {
  const seen: (string | undefined)[] = [];
  for (const change of [() => replaceBy("a: 1\n"), () => replaceBy("a: 2\n"), () => chmod(file, 0o640)]) {
    await change();
    expect(await stampOf()).toMatch(/^[0-9a-f]{32}$/);
    seen.push(await stampOf());
  }
  expect(new Set(seen).size).toBe(3);
});

test("a file that is written, replaced or given its owner again is the same one", async () => {
  await replaceBy("a: 1\n");
  const before = await stampOf();
  const { uid, gid } = await stat(file);
  const nightly = [
    () => replaceBy("a: 1\n"),
    () => writeFile(file, "a: 1\n"),
    () => utimes(file, 1, 1),
    () => execFileSync("chown", [`${uid}:${gid}`, file]),
  ];
  for (const rewrite of nightly) {
    await rewrite();
    expect(await stampOf()).toBe(before);
  }
});

test("a dry run makes no key: without one, every stamp is another one", async () => {
  await replaceBy("a: 1\n");
  const [one, other] = [await fileStamp(file, key, { isDry: true }), await fileStamp(file, key, { isDry: true })];
  expect([one, other]).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/), expect.stringMatching(/^[0-9a-f]{32}$/)]);
  expect(one).not.toBe(other);
  await expect(stat(join(folder, "state"))).rejects.toMatchObject({ code: "ENOENT" });
  const kept = await stampOf();
  expect(await fileStamp(file, key, { isDry: true })).toBe(kept);
});

test("the stamp says nothing without the key, which is its owner's alone; with another key it is another one", async () => {
  const text = "auth_token: 1234\n";
  await replaceBy(text);
  const before = await stampOf();
  const { uid, gid, mode } = await stat(file);
  const plain = createHash("sha256")
    .update(`${JSON.stringify([file, uid, gid, mode])}\n${text}`)
    .digest("hex");
  expect(plain.startsWith(before ?? "")).toBe(false);
  expect((await stat(key)).mode & 0o777).toBe(0o600);
  expect((await readFile(key)).length).toBe(32);
  const other = join(folder, "other.yaml");
  await writeFile(other, text, { mode: 0o600 });
  expect(await stampOf(other)).not.toBe(before);
  // A full disk has cut it.
  await writeFile(key, "half");
  const after = await stampOf();
  expect(after).toMatch(/^[0-9a-f]{32}$/);
  expect(after).not.toBe(before);
  expect(await stampOf()).toBe(after);
});

test("there is none for a file that is missing, is a folder or a pipe, or is too large, nor without a key", async () => {
  expect(await stampOf()).toBeUndefined();
  await writeFile(file, Buffer.alloc(1_048_577));
  expect(await stampOf()).toBeUndefined();
  await writeFile(file, Buffer.alloc(1_048_576));
  expect(await stampOf()).toMatch(/^[0-9a-f]{32}$/);
  expect(await stampOf(folder)).toBeUndefined();
  expect(await stampOf(join(file, "below"))).toBeUndefined();
  execFileSync("mkfifo", [join(folder, "pipe")]);
  expect(await stampOf(join(folder, "pipe"))).toBeUndefined();
  expect(await fileStamp(file, join(file, "key"))).toBeUndefined();
});
