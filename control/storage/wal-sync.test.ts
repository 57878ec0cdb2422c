import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openDatabase } from "./open-database.ts";
import { WalSync } from "./wal-sync.ts";

let folder: string;
let path: string;
let database: DatabaseSync;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "platform-wal-"));
  path = join(folder, "private", "one.sqlite");
  database = openDatabase({ path, applicationId: 1, migrations: ["CREATE TABLE one (value TEXT) STRICT"] });
});
afterEach(() => {
  if (database.isOpen) database.close();
  rmSync(folder, { recursive: true });
});

const insert = (value: string): void => void database.prepare("INSERT INTO one VALUES (?)").run(value);
const synchronous = (): unknown => Object.values(database.prepare("PRAGMA synchronous").get() ?? {})[0];
const full = 2;

/** A log whose syncs end when the test says so. */
function heldLog() {
  const syncs: PromiseWithResolvers<void>[] = [];
  const begun: (() => void)[] = [];
  const openLog = async () => ({
    datasync: async () => {
      const sync = Promise.withResolvers<void>();
      syncs.push(sync);
      for (const one of begun.splice(0)) one();
      await sync.promise;
    },
    close: async () => {},
  });
  const nth = async (number: number): Promise<PromiseWithResolvers<void>> => {
    while (syncs[number - 1] === undefined) await new Promise<void>((resolve) => void begun.push(resolve));
    return syncs[number - 1] as PromiseWithResolvers<void>;
  };
  return { openLog, nth, syncs };
}

test("a commit is written at once, durable after a sync of its log, and those that come meanwhile share the next one", async () => {
  const log = heldLog();
  const sync = new WalSync({ database, path, openLog: log.openLog });
  const done: string[] = [];
  const run = (value: string): Promise<void> => sync.run(() => insert(value)).then(() => void done.push(value));
  const first = run("a");
  expect(database.prepare("SELECT value FROM one").all()).toEqual([{ value: "a" }]);
  expect(synchronous()).toBe(full);
  const held = await log.nth(1);
  const others = [run("b"), run("c")];
  expect(done).toEqual([]);
  held.resolve();
  await first;
  expect(done).toEqual(["a"]);
  (await log.nth(2)).resolve();
  await Promise.all(others);
  expect([done, log.syncs.length]).toEqual([["a", "b", "c"], 2]);
  await sync.close();
});

test("the log is the real one beside the database", async () => {
  const sync = new WalSync({ database, path });
  await sync.run(() => insert("a"));
  expect(statSync(`${path}-wal`).size).toBeGreaterThan(0);
  await sync.close();
});

test("after a sync that failed, the log is copied into the database; where that fails too, the commit is not durable", async () => {
  const openLog = async () => ({ datasync: () => Promise.reject(new Error("EIO")), close: async () => {} });
  const sync = new WalSync({ database, path, openLog });
  const before = statSync(path).size;
  await sync.run(() => insert("x".repeat(20_000)));
  expect(statSync(path).size).toBeGreaterThan(before);
  const late = sync.run(() => insert("b"));
  database.close();
  await expect(late).rejects.toMatchObject({ code: "unavailable" });
  await sync.close();
});

test("work that throws rejects, and later commits are synced by SQLite again", async () => {
  const sync = new WalSync({ database, path });
  await expect(sync.run(() => void database.exec("INSERT INTO nothing VALUES (1)"))).rejects.toThrow(/nothing/);
  expect(synchronous()).toBe(full);
  await sync.run(() => insert("a"));
  await sync.close();
});
