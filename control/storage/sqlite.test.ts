import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { openSqlite } from "./sqlite.ts";
import { type Opened, storageContract } from "./storage.contract.ts";

storageContract("SQLite", async (): Promise<Opened> => {
  const { path, [Symbol.dispose]: remove } = folder();
  let time = Date.parse("2026-01-01T00:00:00Z");
  const now = (): Date => new Date(time);
  let storage = openSqlite({ path, now });
  return {
    storage,
    now,
    forward: (ms) => {
      time += ms;
    },
    reopen: async () => {
      await storage.close();
      storage = openSqlite({ path, now });
      return storage;
    },
    [Symbol.asyncDispose]: async () => {
      await storage.close();
      remove();
    },
  };
});

test("the files and their folder are the owner's only", async () => {
  using at = folder();
  const storage = openSqlite({ path: at.path });
  await storage.put({ key: "/k", value: "secret" });
  for (const path of [at.path, `${at.path}-wal`, `${at.path}-shm`]) expect(statSync(path).mode & 0o777, path).toBe(0o600);
  expect(statSync(join(at.path, "..")).mode & 0o777).toBe(0o700);
  await storage.close();
});

const planted: readonly [what: string, plant: (path: string) => void, message: RegExp][] = [
  ["a file that others can read", (path) => readable(path), /can be read by others \(mode 644\)/],
  ["a folder that others can read", (path) => chmodSync(join(path, ".."), 0o755), /can be read by others \(mode 755\)/],
  ["a symbolic link", (path) => symlinkSync("/etc/passwd", path), /symbolic link/],
  ["garbage", (path) => writeFileSync(path, "x".repeat(8192), { mode: 0o600 }), /is damaged/],
  ["a torn database", (path) => torn(path), /is damaged/],
  ["another program's database", (path) => foreign(path, "CREATE TABLE theirs (x)"), /of another program/],
  ["a newer version's database", (path) => newer(path), /by a newer version \(schema 99/],
];
test.for(planted)("%s is refused with words, and nothing is overwritten", ([, plant, message]) => {
  using at = folder();
  mkdirSync(join(at.path, ".."), { mode: 0o700, recursive: true });
  plant(at.path);
  const before = contentOf(at.path);
  expect(() => openSqlite({ path: at.path })).toThrow(message);
  expect(contentOf(at.path)).toEqual(before);
});

test("a full disk is said, nothing of that write is kept, and all before it is", async () => {
  using at = folder();
  const storage = openSqlite({ path: at.path, maxBytes: 200_000 });
  await storage.put({ key: "/held", value: "1" });
  const big = "x".repeat(150_000);
  await storage.put({ key: "/big", value: big });
  const refused = storage.batch([
    { key: "/held", value: "2" },
    { key: "/bigger", value: big },
  ]);
  await expect(refused).rejects.toMatchObject({ code: "unavailable", message: expect.stringMatching(/the disk is full/) });
  expect((await storage.get("/held"))?.value).toBe("1");
  expect((await storage.list("/")).map(({ key }) => key)).toEqual(["/big", "/held"]);
  await storage.close();
});

test("what was acknowledged survives a process that is killed in the next write", async () => {
  using at = folder();
  const program = `
    import { openSqlite } from ${JSON.stringify(join(import.meta.dirname, "sqlite.ts"))};
    const storage = openSqlite({ path: ${JSON.stringify(at.path)} });
    for (let n = 0; ; n += 1) {
      await storage.batch([{ key: "/a", value: String(n) }, { key: "/b", value: String(n) }]);
      if (n === 20) process.kill(process.pid, "SIGKILL");
    }`;
  const { signal } = spawnSync(process.execPath, ["--input-type=module-typescript", "-e", program], { stdio: "ignore" });
  expect(signal).toBe("SIGKILL");
  const storage = openSqlite({ path: at.path });
  const values = (await storage.list("/")).map(({ value }) => Number(value));
  expect(values[0]).toBeGreaterThanOrEqual(20);
  expect(values[0]).toBe(values[1]);
  await storage.close();
});

function folder(): Disposable & { readonly path: string } {
  const root = mkdtempSync(join(tmpdir(), "platform-storage-"));
  return { path: join(root, "auth", "state.sqlite"), [Symbol.dispose]: () => rmSync(root, { recursive: true }) };
}

function contentOf(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}

function foreign(path: string, sql: string): void {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
  chmodSync(path, 0o600);
}

function ours(path: string): void {
  void openSqlite({ path }).close();
}

function newer(path: string): void {
  ours(path);
  foreign(path, "PRAGMA user_version=99");
}

function readable(path: string): void {
  ours(path);
  chmodSync(path, 0o644);
}

function torn(path: string): void {
  ours(path);
  const bytes = readFileSync(path);
  writeFileSync(path, bytes.fill(0x55, 4096, 12_288));
}

test("a watch tells what another process writes, each change once, and what this one writes as before", async () => {
  using at = folder();
  const [own, other] = [openSqlite({ path: at.path }), openSqlite({ path: at.path })];
  await other.put({ key: "/a/gone", value: "1" });
  await other.put({ key: "/b/else", value: "1" });
  const stop = new AbortController();
  const changes = own.watch(["/a/"], stop.signal)[Symbol.asyncIterator]();
  const next = async (): Promise<string> => {
    const { value } = await changes.next();
    return value === undefined ? "end" : value.kind === "put" ? `${value.entry.key}=${value.entry.value}` : `-${value.key}`;
  };
  await other.put({ key: "/a/new", value: "other" });
  expect(await next()).toBe("/a/new=other");
  await own.put({ key: "/a/new", value: "own" });
  expect(await next()).toBe("/a/new=own");
  await other.delete("/a/gone");
  expect(await next()).toBe("-/a/gone");
  await other.put({ key: "/b/else", value: "2" });
  await other.put({ key: "/a/new", value: "last" });
  expect(await next()).toBe("/a/new=last");
  stop.abort();
  expect(await next()).toBe("end");
  await own.close();
  await other.close();
});

test("a reader takes what another process has written without waiting for the next look", async () => {
  using at = folder();
  const [own, other] = [openSqlite({ path: at.path }), openSqlite({ path: at.path })];
  const watch = own.watch(["/a/"], new AbortController().signal);
  await other.put({ key: "/a/new", value: "1" });
  await own.put({ key: "/a/own", value: "1" });
  expect(
    watch
      .take()
      .map((change) => (change.kind === "put" ? change.entry.key : change.key))
      .sort(),
  ).toEqual(["/a/new", "/a/own"]);
  await other.delete("/a/new");
  expect(watch.take()).toEqual([{ kind: "delete", key: "/a/new" }]);
  await own.close();
  await other.close();
});
