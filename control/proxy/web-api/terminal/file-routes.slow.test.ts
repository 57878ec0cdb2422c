import { createHash, randomBytes } from "node:crypto";
import { mkdir, readFile, stat, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Folder } from "../../../../core/api/web/files.ts";
import { openBrowser } from "../../../../test/inside/web-browser.ts";
import { beginDownload, readAll } from "./testing/download.ts";
import { type FilesWorld, openFilesWorld } from "./testing/files-world.ts";

const hash = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

let world: FilesWorld;
beforeAll(async () => {
  world = await openFilesWorld();
});
afterAll(async () => await world?.[Symbol.asyncDispose]());

describe("a download", () => {
  test("has the file's bytes, length and name", async () => {
    const bytes = randomBytes(3 * 1024 * 1024 + 5);
    await writeFile(world.inHome('hü"rt\r\n.bin'), bytes);
    const facts = await world.alice(`/files?${world.queryOf('~/hü"rt\r\n.bin')}`);
    expect(facts.body).toEqual({ path: world.inHome('hü"rt\r\n.bin'), size: bytes.length });
    const { status, headers, bytes: got, isWhole } = await readAll(await beginDownload(world, 'hü"rt\r\n.bin'));
    expect([status, hash(got), isWhole]).toEqual([200, hash(bytes), true]);
    expect(headers).toMatchObject({
      "content-length": String(bytes.length),
      "content-type": "application/octet-stream",
      "x-content-type-options": "nosniff",
      "content-disposition": `attachment; filename="h__rt__.bin"; filename*=UTF-8''h%C3%BC%22rt%0D%0A.bin`,
    });
  });

  test("of a file of the kernel, which has no size, is read to its end", async () => {
    const { status, bytes, isWhole } = await readAll(await beginDownload(world, "/proc/self/status"));
    expect([status, isWhole]).toEqual([200, true]);
    expect(bytes.toString()).toMatch(/^Name:/);
  });

  test("of a file that becomes shorter is cut, and never taken for whole", async () => {
    await writeFile(world.inHome("shrinks"), Buffer.alloc(64 * 1024 * 1024));
    const response = await beginDownload(world, "shrinks");
    expect(response.statusCode).toBe(200);
    // Nobody reads: what is under way is far less than the file.
    await truncate(world.inHome("shrinks"), 1000);
    const { isWhole, bytes } = await readAll(response);
    expect([isWhole, bytes.length < 64 * 1024 * 1024]).toEqual([false, true]);
  });

  test("ends with the session of its browser", async () => {
    const dora = await openBrowser(world.cluster, "dora", ["files"]);
    await writeFile(world.inHome("large"), Buffer.alloc(64 * 1024 * 1024));
    const response = await beginDownload(world, "large", { cookie: dora.cookie });
    expect((await dora("/session", { method: "DELETE" })).status).toBe(204);
    expect((await readAll(response)).isWhole).toBe(false);
  });

  test.for([
    ["that there is not", "gone", 404],
    ["that is a folder", ".", 400],
    ["that is a device", "/dev/zero", 400],
  ] as const)("of a file %s is refused", async ([, path, status]) => {
    const { body } = await world.alice(`/files?${world.queryOf(path)}`);
    expect(body).toMatchObject({ error: { message: expect.stringContaining(`could not read ${path} on web-1: `) } });
    expect((await readAll(await beginDownload(world, path))).status).toBe(status);
  });

  test.for([
    ["without a cookie", () => ({}), 401],
    ["from a page of another site", () => ({ cookie: world.alice.cookie, "sec-fetch-site": "cross-site" }), 403],
    ["from an application of ours", () => ({ cookie: world.alice.cookie, "sec-fetch-site": "same-site" }), 403],
    ["by a form of another site", () => ({ cookie: world.alice.cookie, origin: "https://evil.test" }), 403],
  ] as const)("%s is refused", async ([, headers, status]) => {
    expect((await readAll(await beginDownload(world, "empty", headers() as Record<string, string>))).status).toBe(status);
  });

  test("by somebody without a role for it reaches no host", async () => {
    const guest = await openBrowser(world.cluster, "guest", ["nobody"]);
    const streams = world.host.agent.requests.length;
    expect((await readAll(await beginDownload(world, "empty", { cookie: guest.cookie }))).status).toBe(403);
    expect(world.host.agent.requests.length).toBe(streams);
  });
});

describe("a folder", () => {
  const folder = async (query: object, browser = world.alice) =>
    await browser(`/files/folder?${new URLSearchParams({ ...world.place(), ...query } as Record<string, string>).toString()}`);
  const listed = async (query: object): Promise<Folder> => (await folder(query)).body as Folder;

  test("lists folders first, then by name, and what links lead to", async () => {
    const root = world.inHome("listed");
    await mkdir(join(root, "b-folder"), { recursive: true });
    await writeFile(join(root, "c.txt"), "12345");
    await symlink("b-folder", join(root, "a-link"));
    await symlink("gone", join(root, "d-nowhere"));
    const { path, bytes, parent, entries, isCut } = await listed({ path: "listed" });
    expect([path, Buffer.from(bytes, "base64url").toString(), isCut]).toEqual([root, root, false]);
    expect(Buffer.from(parent ?? "", "base64url").toString()).toBe(world.host.home);
    expect(entries.map(({ name, kind, size }) => [name, kind, kind === "file" ? size : 0])).toEqual([
      ["a-link", "folder", 0],
      ["b-folder", "folder", 0],
      ["c.txt", "file", 5],
      ["d-nowhere", "other", 0],
    ]);
    expect(Date.parse(entries[2]?.modified ?? "")).toBeCloseTo((await stat(join(root, "c.txt"))).mtimeMs, -4);
    expect((await listed({ path: "/" })).parent).toBeUndefined();
    expect((await listed({})).path).toBe(world.host.home);
  });

  test("whose names are not UTF-8 is walked, read from and written to", async () => {
    const strange = Buffer.from([0x66, 0xfc, 0xdf, 0xff]);
    const whole = Buffer.concat([Buffer.from(`${world.inHome("")}/`), strange]);
    await mkdir(whole, { recursive: true });
    await writeFile(Buffer.concat([whole, Buffer.from("/"), strange]), "inside");
    const found = (await listed({})).entries.find(({ name }) => name.startsWith("f\ufffd"));
    expect(found).toMatchObject({ kind: "folder" });
    const [file] = (await listed({ bytes: found?.bytes })).entries;
    expect(file).toMatchObject({ kind: "file", size: 6 });
    const read = await beginDownload(world, { bytes: file?.bytes ?? "" });
    expect((await readAll(read)).bytes.toString()).toBe("inside");
    expect(await world.upload("new", Buffer.from("written"), { bytes: found?.bytes })).toMatchObject({ type: "stored" });
    expect(await readFile(Buffer.concat([whole, Buffer.from("/new")]), "utf8")).toBe("written");
  });

  test("with more than 2,000 entries is cut, and states so", async () => {
    await mkdir(world.inHome("many"));
    for (let at = 0; at < 2001; at += 1) await symlink("gone", world.inHome(`many/${String(at).padStart(4, "0")}`));
    const { entries, isCut } = await listed({ path: "many" });
    expect([entries.length, entries.at(-1)?.name, isCut]).toEqual([2000, "1999", true]);
  });

  test.for([
    ["that there is not", { path: "gone" }, 404],
    ["that is a file", { path: "/etc/passwd" }, 412],
    ["by bytes that are not an absolute path", { bytes: Buffer.from("etc").toString("base64url") }, 400],
    ["by bytes with a NUL", { bytes: Buffer.from("/etc\0x").toString("base64url") }, 400],
  ] as const)("%s is refused", async ([, query, status]) => {
    const answer = await folder(query);
    expect(answer.status).toBe(status);
    expect(answer.body).toMatchObject({ error: { message: expect.stringMatching(/\w/) } });
  });

  test("is not listed for a user whose role forbids file copies", async () => {
    expect((await folder({}, await openBrowser(world.cluster, "carl", ["no-files"]))).status).toBe(403);
  });
});
