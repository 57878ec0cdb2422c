import { describe, expect, test } from "vitest";
import type { Change, Storage } from "./storage.ts";

export interface Opened extends AsyncDisposable {
  readonly storage: Storage;
  /** Moves the engine's clock, ms. */
  forward(ms: number): void;
  now(): Date;
  /** Closes and opens on the same data. */
  reopen(): Promise<Storage>;
}

/** What every engine promises; each engine's test runs it. */
export function storageContract(name: string, open: () => Promise<Opened>): void {
  describe(`${name} keeps the storage's promises`, () => {
    test("what was put is read, listed by prefix in key order, and there after reopening", async () => {
      await using t = await open();
      for (const key of ["/b/2", "/a/1", "/b/1", "/b", "/b0", "/c"]) await t.storage.put({ key, value: `value of ${key}` });
      expect((await t.storage.list("/b/")).map(({ key }) => key)).toEqual(["/b/1", "/b/2"]);
      expect((await t.storage.list("/b/", { limit: 1 })).map(({ key }) => key)).toEqual(["/b/1"]);
      expect((await t.storage.list("/b/", { after: "/b/1" })).map(({ key }) => key)).toEqual(["/b/2"]);
      const before = await t.storage.get("/a/1");
      expect(before).toMatchObject({ key: "/a/1", value: "value of /a/1", expires: undefined });
      const storage = await t.reopen();
      expect(await storage.get("/a/1")).toEqual(before);
    });

    test("every write gives a new revision, also after a delete and after reopening", async () => {
      await using t = await open();
      const seen = new Set<string>();
      for (let round = 0; round < 3; round += 1) {
        seen.add((await t.storage.put({ key: "/k", value: "same" })).revision);
        await t.storage.delete("/k");
      }
      seen.add((await (await t.reopen()).put({ key: "/k", value: "same" })).revision);
      expect(seen.size).toBe(4);
    });

    test("expectations are kept", async () => {
      await using t = await open();
      const { storage } = t;
      await expect(storage.put({ key: "/k", value: "1", expect: "present" })).rejects.toMatchObject({ code: "not_found" });
      const first = await storage.put({ key: "/k", value: "1", expect: "absent" });
      await expect(storage.put({ key: "/k", value: "2", expect: "absent" })).rejects.toMatchObject({ code: "already_exists" });
      const second = await storage.put({ key: "/k", value: "2", expect: { revision: first.revision } });
      await expect(storage.put({ key: "/k", value: "3", expect: { revision: first.revision } })).rejects.toMatchObject({ code: "conflict" });
      await expect(storage.delete("/k", { revision: first.revision })).rejects.toMatchObject({ code: "conflict" });
      expect((await storage.get("/k"))?.value).toBe("2");
      expect(await storage.delete("/k", { revision: second.revision })).toBe(true);
      expect(await storage.delete("/k")).toBe(false);
      await expect(storage.put({ key: "/k", value: "4", expect: { revision: second.revision } })).rejects.toMatchObject({ code: "conflict" });
    });

    test("of writers that race on one revision, one wins", async () => {
      await using t = await open();
      const { revision } = await t.storage.put({ key: "/k", value: "0" });
      const races = Array.from({ length: 20 }, (_, index) => t.storage.put({ key: "/k", value: String(index), expect: { revision } }));
      const won = (await Promise.allSettled(races)).filter(({ status }) => status === "fulfilled");
      expect(won).toHaveLength(1);
    });

    test("a batch is all or nothing", async () => {
      await using t = await open();
      await t.storage.put({ key: "/held", value: "1" });
      const batch = [{ key: "/new", value: "1" }, { key: "/held" }, { key: "/held2", value: "2", expect: "present" as const }];
      await expect(t.storage.batch(batch)).rejects.toMatchObject({ code: "not_found" });
      expect(await t.storage.get("/new")).toBeUndefined();
      expect((await t.storage.get("/held"))?.value).toBe("1");
      await t.storage.batch(batch.slice(0, 2));
      expect((await t.storage.list("/")).map(({ key }) => key)).toEqual(["/new"]);
    });

    test.for([["no slash"], ["/with space"], ["/ü"], [`/${"x".repeat(600)}`], [""]])("refuses the key %j", async ([key]) => {
      await using t = await open();
      await expect(t.storage.put({ key: key as string, value: "" })).rejects.toMatchObject({ code: "invalid" });
    });

    test("an expired entry is gone: for get, list and expectations", async () => {
      await using t = await open();
      await t.storage.put({ key: "/k", value: "1", expires: new Date(t.now().getTime() + 1000) });
      t.forward(999);
      expect((await t.storage.get("/k"))?.value).toBe("1");
      t.forward(1);
      expect(await t.storage.get("/k")).toBeUndefined();
      expect(await t.storage.list("/")).toEqual([]);
      await t.storage.put({ key: "/k", value: "2", expect: "absent" });
      expect((await t.storage.get("/k"))?.expires).toBeUndefined();
    });

    test("a watch tells puts, deletes and expiries of its prefixes in order, from the call on", async () => {
      await using t = await open();
      const stop = new AbortController();
      await t.storage.put({ key: "/a/before", value: "" });
      const changes = t.storage.watch(["/a/", "/b/"], stop.signal)[Symbol.asyncIterator]();
      await t.storage.put({ key: "/a/1", value: "1", expires: new Date(t.now().getTime() + 10) });
      await t.storage.put({ key: "/c/1", value: "1" });
      await t.storage.put({ key: "/b/1", value: "1" });
      await t.storage.delete("/b/1");
      t.forward(10);
      await t.storage.put({ key: "/c/2", value: "1" });
      const seen: string[] = [];
      for (let count = 0; count < 4; count += 1) seen.push(describeChange((await changes.next()).value));
      expect(seen).toEqual(["put /a/1", "put /b/1", "delete /b/1", "delete /a/1"]);
      const waiting = changes.next();
      stop.abort();
      expect((await waiting).done).toBe(true);
    });

    test("a watch whose reader sleeps ends with limit, and writers do not wait for it", async () => {
      await using t = await open();
      const changes = t.storage.watch(["/"], new AbortController().signal)[Symbol.asyncIterator]();
      const writes = Array.from({ length: 1100 }, (_, index) => ({ key: `/k/${index}`, value: "" }));
      await t.storage.batch(writes);
      await expect(changes.next()).rejects.toMatchObject({ code: "limit" });
      expect((await changes.next()).done).toBe(true);
    });

    test("a reader takes what has changed up to then, and no change twice; with too many it lists again", async () => {
      await using t = await open();
      const stop = new AbortController();
      const watch = t.storage.watch(["/a/"], stop.signal);
      expect(watch.take()).toEqual([]);
      await t.storage.put({ key: "/a/1", value: "1" });
      await t.storage.put({ key: "/b/1", value: "1" });
      await t.storage.delete("/a/1");
      expect(watch.take().map(describeChange)).toEqual(["put /a/1", "delete /a/1"]);
      expect(watch.take()).toEqual([]);
      await t.storage.batch(Array.from({ length: 1100 }, (_, index) => ({ key: `/a/${index}`, value: "" })));
      for (let count = 0; count < 2; count += 1) expect(() => watch.take()).toThrow(expect.objectContaining({ code: "limit" }));
      const other = t.storage.watch(["/a/"], stop.signal);
      stop.abort();
      expect(() => other.take()).toThrow(expect.objectContaining({ code: "unavailable" }));
    });

    test("closing ends watches, and what comes later is refused", async () => {
      await using t = await open();
      const waiting = t.storage.watch(["/"], new AbortController().signal)[Symbol.asyncIterator]().next();
      await t.storage.close();
      expect((await waiting).done).toBe(true);
      await expect(t.storage.get("/k")).rejects.toMatchObject({ code: "unavailable" });
    });
  });
}

function describeChange(change: Change | undefined): string {
  if (change === undefined) return "end";
  return change.kind === "put" ? `put ${change.entry.key}` : `delete ${change.key}`;
}
