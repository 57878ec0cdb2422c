import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { changingLogins, databaseLogins, portFor, saveDatabaseLogins } from "./database-logins.ts";

let home = "";
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "platform-db-logins-"));
});
afterEach(async () => await rm(home, { recursive: true }));

const alice = { cluster: "Test.example", user: "alice" };
const orders = { name: "orders", protocol: "postgres", user: "jörg", database: "orders", port: 21_000, direct: "p.example.com:5432" };

test("logins are read as they were saved, by their own user alone, from a file for its owner", async () => {
  expect(await databaseLogins(home, alice)).toEqual([]);
  const cache = { ...orders, name: "a", protocol: "redis", isCluster: true };
  await saveDatabaseLogins(home, alice, [orders, cache]);
  expect((await databaseLogins(home, alice))[0]).toEqual(cache);
  expect((await databaseLogins(home, alice))[1]).toEqual(orders);
  expect(await databaseLogins(home, { ...alice, user: "bob" })).toEqual([]);
  expect(await databaseLogins(home, { ...alice, cluster: "other" })).toEqual([]);
  const file = join(home, "databases", "%54est.example.json");
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  await saveDatabaseLogins(home, alice, []);
  await expect(readFile(file)).rejects.toMatchObject({ code: "ENOENT" });
});

test.for(["", "{", "[]", '{"version":2}', '{"version":1,"user":"alice","logins":[{"name":1},null,{"name":"x","port":70000}]}'])(
  "a file %j holds no logins",
  async (text) => {
    await saveDatabaseLogins(home, alice, [orders]);
    await writeFile(join(home, "databases", "%54est.example.json"), text);
    expect(await databaseLogins(home, alice)).toEqual([]);
  },
);

test("a database has the same port each time, and no two have one", () => {
  const first = portFor("test", "orders", []);
  expect(first).toBeGreaterThanOrEqual(20_000);
  expect(first).toBeLessThan(30_000);
  expect(portFor("test", "orders", [])).toBe(first);
  expect(portFor("test", "orders", [first])).toBe(first === 29_999 ? 20_000 : first + 1);
});

test("changes run one after the other", async () => {
  const add = (name: string) =>
    changingLogins(home, async () => await saveDatabaseLogins(home, alice, [...(await databaseLogins(home, alice)), { ...orders, name }]));
  await Promise.all(["a", "b", "c", "d"].map(add));
  expect((await databaseLogins(home, alice)).map(({ name }) => name)).toEqual(["a", "b", "c", "d"]);
});

test("a folder that cannot be made is an error that names it", async () => {
  const file = join(home, "file");
  await writeFile(file, "");
  const failed = { code: "invalid", message: expect.stringContaining(`could not create ${file}`) };
  await expect(changingLogins(file, async () => {})).rejects.toMatchObject(failed);
  await expect(saveDatabaseLogins(file, alice, [orders])).rejects.toMatchObject(failed);
});
