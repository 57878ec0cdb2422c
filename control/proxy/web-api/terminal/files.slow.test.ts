import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { chmod, mkdir, readdir, readFile, stat, symlink, truncate, writeFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { userInfo } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { WebSocket } from "ws";
import type { Folder } from "../../../../core/api/web/files.ts";
import { startTestCluster, type TestCluster } from "../../../../test/inside/open-cluster.ts";
import { type SshHost, startSshHost } from "../../../../test/inside/ssh-host.ts";
import { openBrowser, type WebBrowser } from "../../../../test/inside/web-browser.ts";
import { openUpload } from "../../../../test/inside/web-upload.ts";

const login = userInfo().username;
const hash = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

let cluster: TestCluster;
let host: SshHost;
let alice: WebBrowser;

beforeAll(async () => {
  cluster = await startTestCluster();
  const allow = { logins: [login], node_labels: { "*": "*" } };
  await cluster.putRole("files", { allow });
  await cluster.putRole("no-files", { allow, options: { ssh_file_copy: false } });
  await cluster.putRole("nobody", {});
  host = await startSshHost(cluster, "web-1");
  alice = await openBrowser(cluster, "alice", ["files"]);
});
afterAll(async () => {
  await host[Symbol.asyncDispose]();
  await cluster[Symbol.asyncDispose]();
});

const inHome = (name: string): string => join(host.home, name);
const place = (): { node: string; login: string } => ({ node: host.agent.id, login });
const queryOf = (asked: string | { readonly bytes: string }): string =>
  new URLSearchParams({ ...place(), ...(typeof asked === "string" ? { path: asked } : asked) }).toString();
const left = async (): Promise<string[]> => (await readdir(host.home)).filter((name) => name.startsWith(".platform-upload-"));

const sendAll =
  (bytes: Buffer) =>
  (socket: WebSocket): void => {
    for (let at = 0; at < bytes.length; at += 65_536) socket.send(bytes.subarray(at, at + 65_536));
  };

/** The last notice. */
async function upload(name: string, bytes: Buffer, more: object = {}, browser = alice): Promise<Record<string, unknown> | undefined> {
  const ask = { ...place(), folder: "", name, size: bytes.length, replace: false, ...more };
  return await (await openUpload(cluster, browser, { ask, ready: sendAll(bytes) })).closed;
}

describe("an upload", () => {
  test("is stored as it is, under its name alone, and audited as SFTP of the user", async () => {
    const bytes = randomBytes(5 * 1024 * 1024 + 17);
    expect(await upload("grüß 1.bin", bytes)).toEqual({ type: "stored", path: inHome("grüß 1.bin") });
    expect(hash(await readFile(inHome("grüß 1.bin")))).toBe(hash(bytes));
    expect(await left()).toEqual([]);
    await expect
      .poll(() => host.events)
      .toContainEqual(expect.objectContaining({ event: "sftp", user: "alice", action: "rename", target_path: inHome("grüß 1.bin") }));
  });

  test("of nothing is an empty file", async () => {
    expect(await upload("empty", Buffer.alloc(0))).toMatchObject({ type: "stored" });
    expect((await stat(inHome("empty"))).size).toBe(0);
  });

  test("replaces a file after a question alone, whose permissions it keeps, also behind a link", async () => {
    await writeFile(inHome("real"), "before");
    await chmod(inHome("real"), 0o640);
    await symlink("real", inHome("link"));
    expect(await upload("link", Buffer.from("after"))).toMatchObject({ type: "error", error: { code: "already_exists" } });
    expect(await readFile(inHome("real"), "utf8")).toBe("before");
    expect(await upload("link", Buffer.from("after"), { replace: true })).toEqual({ type: "stored", path: inHome("real") });
    expect([await readFile(inHome("real"), "utf8"), (await stat(inHome("real"))).mode & 0o777]).toEqual(["after", 0o640]);
  });

  test("that is cut leaves neither the name nor a part", async () => {
    const ask = { ...place(), folder: "", name: "cut", size: 1_000_000, replace: false };
    const { socket, notices } = await openUpload(cluster, alice, { ask, ready: sendAll(Buffer.alloc(600_000)) });
    await expect.poll(() => notices.some(({ type }) => type === "written")).toBe(true);
    expect(await left()).toHaveLength(1);
    socket.terminate();
    await expect.poll(left, { timeout: 5_000 }).toEqual([]);
    expect(await readdir(host.home)).not.toContain("cut");
  });

  test("takes no more than it was announced with", async () => {
    const bytes = Buffer.alloc(100_000);
    expect(await upload("longer", bytes, { size: 10 })).toMatchObject({ type: "error", error: { code: "invalid" } });
    await expect.poll(left).toEqual([]);
    expect(await readdir(host.home)).not.toContain("longer");
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
    await mkdir(inHome("taken"), { recursive: true });
    expect(await upload("refused", Buffer.from("x"), more)).toMatchObject({ type: "error", error: { code, message: expect.stringMatching(/\w/) } });
  });

  test("that the host cannot write is refused with its reason", async () => {
    expect(await upload("x", Buffer.alloc(1000), { folder: "/proc" })).toMatchObject({
      type: "error",
      error: { message: expect.stringContaining("could not store x on web-1: ") },
    });
  });

  test("without the role's ssh_file_copy is refused by the host", async () => {
    const bob = await openBrowser(cluster, "bob", ["no-files"]);
    expect(await upload("bobs", Buffer.from("x"), {}, bob)).toMatchObject({ type: "error", error: { code: "denied" } });
    expect((await bob(`/files?${queryOf("empty")}`)).status).toBe(403);
  });
});

interface Download {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly bytes: Buffer;
  /** False: it was cut. */
  readonly isWhole: boolean;
}

async function begin(
  asked: string | { readonly bytes: string },
  headers: Record<string, string> = { cookie: alice.cookie, "sec-fetch-site": "same-origin" },
): Promise<IncomingMessage> {
  const { port } = cluster.proxy.addresses.web;
  const sent = request({
    port,
    host: "127.0.0.1",
    servername: "localhost",
    path: `/webapi/v1/files/content?${queryOf(asked)}`,
    headers,
    ca: [...cluster.hostCaPem],
    agent: false,
  });
  sent.end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return response;
}

async function readAll(response: IncomingMessage): Promise<Download> {
  const parts: Buffer[] = [];
  response.on("data", (part: Buffer) => parts.push(part));
  response.on("error", () => {});
  await new Promise((resolve) => response.once("close", resolve));
  return { status: response.statusCode ?? 0, headers: response.headers, bytes: Buffer.concat(parts), isWhole: response.complete };
}

describe("a download", () => {
  test("has the file's bytes, length and name", async () => {
    const bytes = randomBytes(3 * 1024 * 1024 + 5);
    await writeFile(inHome('hü"rt\r\n.bin'), bytes);
    const facts = await alice(`/files?${queryOf('~/hü"rt\r\n.bin')}`);
    expect(facts.body).toEqual({ path: inHome('hü"rt\r\n.bin'), size: bytes.length });
    const { status, headers, bytes: got, isWhole } = await readAll(await begin('hü"rt\r\n.bin'));
    expect([status, hash(got), isWhole]).toEqual([200, hash(bytes), true]);
    expect(headers).toMatchObject({
      "content-length": String(bytes.length),
      "content-type": "application/octet-stream",
      "x-content-type-options": "nosniff",
      "content-disposition": `attachment; filename="h__rt__.bin"; filename*=UTF-8''h%C3%BC%22rt%0D%0A.bin`,
    });
  });

  test("of a file of the kernel, which has no size, is read to its end", async () => {
    const { status, bytes, isWhole } = await readAll(await begin("/proc/self/status"));
    expect([status, isWhole]).toEqual([200, true]);
    expect(bytes.toString()).toMatch(/^Name:/);
  });

  test("of a file that becomes shorter is cut, and never taken for whole", async () => {
    await writeFile(inHome("shrinks"), Buffer.alloc(64 * 1024 * 1024));
    const response = await begin("shrinks");
    expect(response.statusCode).toBe(200);
    // Nobody reads: what is under way is far less than the file.
    await truncate(inHome("shrinks"), 1000);
    const { isWhole, bytes } = await readAll(response);
    expect([isWhole, bytes.length < 64 * 1024 * 1024]).toEqual([false, true]);
  });

  test("ends with the session of its browser", async () => {
    const dora = await openBrowser(cluster, "dora", ["files"]);
    await writeFile(inHome("large"), Buffer.alloc(64 * 1024 * 1024));
    const response = await begin("large", { cookie: dora.cookie });
    expect((await dora("/session", { method: "DELETE" })).status).toBe(204);
    expect((await readAll(response)).isWhole).toBe(false);
  });

  test.for([
    ["that there is not", "gone", 404],
    ["that is a folder", ".", 400],
    ["that is a device", "/dev/zero", 400],
  ] as const)("of a file %s is refused", async ([, path, status]) => {
    const { body } = await alice(`/files?${queryOf(path)}`);
    expect(body).toMatchObject({ error: { message: expect.stringContaining(`could not read ${path} on web-1: `) } });
    expect((await readAll(await begin(path))).status).toBe(status);
  });

  test.for([
    ["without a cookie", () => ({}), 401],
    ["from a page of another site", () => ({ cookie: alice.cookie, "sec-fetch-site": "cross-site" }), 403],
    ["from an application of ours", () => ({ cookie: alice.cookie, "sec-fetch-site": "same-site" }), 403],
    ["by a form of another site", () => ({ cookie: alice.cookie, origin: "https://evil.test" }), 403],
  ] as const)("%s is refused", async ([, headers, status]) => {
    expect((await readAll(await begin("empty", headers() as Record<string, string>))).status).toBe(status);
  });

  test("by somebody without a role for it reaches no host", async () => {
    const guest = await openBrowser(cluster, "guest", ["nobody"]);
    const streams = host.agent.requests.length;
    expect((await readAll(await begin("empty", { cookie: guest.cookie }))).status).toBe(403);
    expect(host.agent.requests.length).toBe(streams);
  });
});

describe("a folder", () => {
  const folder = async (query: object, browser = alice) =>
    await browser(`/files/folder?${new URLSearchParams({ ...place(), ...query } as Record<string, string>)}`);
  const listed = async (query: object): Promise<Folder> => (await folder(query)).body as Folder;

  test("lists folders first, then by name, and what links lead to", async () => {
    const root = inHome("listed");
    await mkdir(join(root, "b-folder"), { recursive: true });
    await writeFile(join(root, "c.txt"), "12345");
    await symlink("b-folder", join(root, "a-link"));
    await symlink("gone", join(root, "d-nowhere"));
    const { path, bytes, parent, entries, isCut } = await listed({ path: "listed" });
    expect([path, Buffer.from(bytes, "base64url").toString(), isCut]).toEqual([root, root, false]);
    expect(Buffer.from(parent ?? "", "base64url").toString()).toBe(host.home);
    expect(entries.map(({ name, kind, size }) => [name, kind, kind === "file" ? size : 0])).toEqual([
      ["a-link", "folder", 0],
      ["b-folder", "folder", 0],
      ["c.txt", "file", 5],
      ["d-nowhere", "other", 0],
    ]);
    expect(Date.parse(entries[2]?.modified ?? "")).toBeCloseTo((await stat(join(root, "c.txt"))).mtimeMs, -4);
    expect((await listed({ path: "/" })).parent).toBeUndefined();
    expect((await listed({})).path).toBe(host.home);
  });

  test("whose names are not UTF-8 is walked, read from and written to", async () => {
    const strange = Buffer.from([0x66, 0xfc, 0xdf, 0xff]);
    const whole = Buffer.concat([Buffer.from(`${inHome("")}/`), strange]);
    await mkdir(whole, { recursive: true });
    await writeFile(Buffer.concat([whole, Buffer.from("/"), strange]), "inside");
    const found = (await listed({})).entries.find(({ name }) => name.startsWith("f\ufffd"));
    expect(found).toMatchObject({ kind: "folder" });
    const [file] = (await listed({ bytes: found?.bytes })).entries;
    expect(file).toMatchObject({ kind: "file", size: 6 });
    const read = await begin({ bytes: file?.bytes ?? "" });
    expect((await readAll(read)).bytes.toString()).toBe("inside");
    expect(await upload("new", Buffer.from("written"), { bytes: found?.bytes })).toMatchObject({ type: "stored" });
    expect(await readFile(Buffer.concat([whole, Buffer.from("/new")]), "utf8")).toBe("written");
  });

  test("with more than 2,000 entries is cut, and states so", async () => {
    await mkdir(inHome("many"));
    for (let at = 0; at < 2001; at += 1) await symlink("gone", inHome(`many/${String(at).padStart(4, "0")}`));
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
    expect((await folder({}, await openBrowser(cluster, "carl", ["no-files"]))).status).toBe(403);
  });
});
