import { createHash, randomBytes } from "node:crypto";
import { chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openBrowser } from "../../../../test/inside/web-browser.ts";
import { openUpload } from "../../../../test/inside/web-upload.ts";
import { type FilesWorld, openFilesWorld, sendAll } from "./testing/files-world.ts";

const hash = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

let world: FilesWorld;
beforeAll(async () => {
  world = await openFilesWorld();
});
afterAll(async () => await world?.[Symbol.asyncDispose]());

describe("an upload", () => {
  test("is stored as it is, under its name alone, and audited as SFTP of the user", async () => {
    const bytes = randomBytes(5 * 1024 * 1024 + 17);
    expect(await world.upload("grüß 1.bin", bytes)).toEqual({ type: "stored", path: world.inHome("grüß 1.bin") });
    expect(hash(await readFile(world.inHome("grüß 1.bin")))).toBe(hash(bytes));
    expect(await world.left()).toEqual([]);
    await expect
      .poll(() => world.host.events)
      .toContainEqual(expect.objectContaining({ event: "sftp", user: "alice", action: "rename", target_path: world.inHome("grüß 1.bin") }));
  });

  test("of nothing is an empty file", async () => {
    expect(await world.upload("empty", Buffer.alloc(0))).toMatchObject({ type: "stored" });
    expect((await stat(world.inHome("empty"))).size).toBe(0);
  });

  test("replaces a file after a question alone, whose permissions it keeps, also behind a link", async () => {
    await writeFile(world.inHome("real"), "before");
    await chmod(world.inHome("real"), 0o640);
    await symlink("real", world.inHome("link"));
    expect(await world.upload("link", Buffer.from("after"))).toMatchObject({ type: "error", error: { code: "already_exists" } });
    expect(await readFile(world.inHome("real"), "utf8")).toBe("before");
    expect(await world.upload("link", Buffer.from("after"), { replace: true })).toEqual({ type: "stored", path: world.inHome("real") });
    expect([await readFile(world.inHome("real"), "utf8"), (await stat(world.inHome("real"))).mode & 0o777]).toEqual(["after", 0o640]);
  });

  test("that is cut leaves neither the name nor a part", async () => {
    const ask = { ...world.place(), folder: "", name: "cut", size: 1_000_000, replace: false };
    const { socket, notices } = await openUpload(world.cluster, world.alice, { ask, ready: sendAll(Buffer.alloc(600_000)) });
    await expect.poll(() => notices.some(({ type }) => type === "written")).toBe(true);
    expect(await world.left()).toHaveLength(1);
    socket.terminate();
    await expect.poll(() => world.left(), { timeout: 5_000 }).toEqual([]);
    expect(await readdir(world.host.home)).not.toContain("cut");
  });

  test("takes no more than it was announced with", async () => {
    const bytes = Buffer.alloc(100_000);
    expect(await world.upload("longer", bytes, { size: 10 })).toMatchObject({ type: "error", error: { code: "invalid" } });
    await expect.poll(() => world.left()).toEqual([]);
    expect(await readdir(world.host.home)).not.toContain("longer");
  });

  test.for([
    ["a name with a slash", { name: "../x" }, "invalid"],
    ["a name that is a folder", { name: ".." }, "invalid"],
    ["a name with a NUL byte", { name: "a\0b" }, "invalid"],
    ["a name that is too long", { name: "ü".repeat(200) }, "invalid"],
    ["a folder that there is not", { folder: "gone" }, "not_found"],
    ["the name of a folder", { name: "taken" }, "conflict"],
    ["another login", { login: "somebody-else" }, "denied"],
    ["a size below nothing", { size: -1 }, "invalid"],
  ] as const)("with %s is refused in words", async ([, more, code]) => {
    await mkdir(world.inHome("taken"), { recursive: true });
    expect(await world.upload("refused", Buffer.from("x"), more)).toMatchObject({
      type: "error",
      error: { code, message: expect.stringMatching(/\w/) },
    });
  });

  test("that the host cannot write is refused with its reason", async () => {
    expect(await world.upload("x", Buffer.alloc(1000), { folder: "/proc" })).toMatchObject({
      type: "error",
      error: { message: expect.stringContaining("could not store x on web-1: ") },
    });
  });

  test("without the role's ssh_file_copy is refused by the host", async () => {
    const bob = await openBrowser(world.cluster, "bob", ["no-files"]);
    expect(await world.upload("bobs", Buffer.from("x"), {}, bob)).toMatchObject({ type: "error", error: { code: "denied" } });
    expect((await bob(`/files?${world.queryOf("empty")}`)).status).toBe(403);
  });
});
