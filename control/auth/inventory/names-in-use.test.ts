import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openSqlite } from "../../storage/sqlite.ts";
import type { Put } from "../../storage/storage.ts";
import { documentKey } from "../document.ts";
import { nodeNamesWrite, opensshPrefix, proxyNamesWrite } from "./host-records.ts";
import { NamesInUse } from "./names-in-use.ts";

const record = (kind: "node" | "proxy", id: string, hostname: string): Put => ({
  key: documentKey(kind, id),
  value: JSON.stringify({ kind: "node", version: "v2", metadata: { name: id }, spec: { hostname, services: ["ssh"], version: "1.0.0" } }),
});

/** A database with two processes, as during a reload, and the names that the first one knows. */
function world() {
  const folder = mkdtempSync(join(tmpdir(), "platform-names-"));
  const path = join(folder, "auth", "state.sqlite");
  const seen = { lists: 0, ms: Date.parse("2026-11-23T08:00:00Z") };
  const now = (): Date => new Date(seen.ms);
  const [own, other] = [openSqlite({ path, now }), openSqlite({ path, now })];
  const list: typeof own.list = async (...ask) => {
    seen.lists += 1;
    return await own.list(...ask);
  };
  const storage = {
    list,
    get: async (key: string) => await own.get(key),
    put: async (write: Put) => await own.put(write),
    delete: async (key: string) => await own.delete(key),
    batch: async (writes: readonly Put[]) => await own.batch(writes),
    watch: (prefixes: readonly string[], signal: AbortSignal) => own.watch(prefixes, signal),
    close: async () => await own.close(),
  };
  const names = new NamesInUse({ storage, clusterName: "c.example.com", nodename: "auth1", now });
  const asyncDispose = async (): Promise<void> => {
    await own.close();
    await other.close();
    rmSync(folder, { recursive: true });
  };
  return { names, own, other, seen, [Symbol.asyncDispose]: asyncDispose };
}

test("each kind of name is known by its base, and a host's own are not among the others'", async () => {
  await using t = world();
  const id = randomUUID();
  const registered = record("node", "db-2", "db-2.example.org");
  await t.own.batch([
    record("node", id, "web-1.c.example.com"),
    nodeNamesWrite(id, { names: ["web-1", "www.example.com", "shared.example.com"], refused: [] }),
    {
      key: `/direct_host/${id}`,
      value: JSON.stringify({
        id,
        hostname: "web-1",
        names: ["web-1"],
        labels: {},
        addresses: ["shared.example.com:22"],
        shared: ["shared.example.com:22"],
      }),
    },
    { ...registered, key: `${opensshPrefix}db-2` },
    record("proxy", "p1", "edge"),
    proxyNamesWrite("p1", { hostname: "edge", names: ["edge", "platform.example.com"] }),
  ]);
  const others = await t.names.others({ id: "" });
  const inUse = (set: { has(name: string): boolean }): readonly string[] =>
    ["web-1", "www.example.com", "db-2", "db-2.example.org", "edge", "platform.example.com", "c.example.com"].filter((name) => set.has(name));
  expect(inUse(others.nodes)).toEqual(["web-1", "db-2", "db-2.example.org"]);
  expect(inUse(others.proxies)).toEqual(["edge"]);
  expect(inUse(others.services)).toEqual(["platform.example.com", "c.example.com"]);
  expect(["web-1", "www.example.com", "shared.example.com"].map((name) => others.more.get(name) ?? [])).toEqual([[], ["web-1"], []]);
  expect(inUse(await t.names.agents())).toEqual(["web-1"]);
  expect(await t.names.agentCount()).toBe(1);
  const itself = await t.names.others({ id: id });
  expect([itself.nodes.has("web-1"), itself.more.get("www.example.com") ?? []]).toEqual([false, []]);
});

test("all are read once; what this process or another has written since is known at once, without reading them again", async () => {
  await using t = world();
  await t.own.put(record("node", "n0", "web-0"));
  const taken = async (name: string): Promise<boolean> => (await t.names.others({ id: "" })).nodes.has(name);
  expect(await taken("web-0")).toBe(true);
  const { lists } = t.seen;
  await t.own.put(record("node", "n1", "web-1"));
  expect(await taken("web-1")).toBe(true);
  await t.other.put(record("node", "n2", "web-2"));
  expect(await taken("web-2")).toBe(true);
  await t.other.put(record("node", "n2", "renamed"));
  await t.other.delete(documentKey("node", "n0"));
  expect(await Promise.all(["web-0", "web-1", "web-2", "renamed"].map(taken))).toEqual([false, true, false, true]);
  expect(t.seen.lists).toBe(lists);
});

test("after more changes than a watch keeps, all are read again", async () => {
  await using t = world();
  await t.names.others({ id: "" });
  await t.own.batch(Array.from({ length: 1_100 }, (_, index) => record("node", `n${index}`, `web-${index}`)));
  expect(await t.names.agentCount()).toBe(1_100);
});

test("a record that has expired holds its name no longer, even while nothing is written", async () => {
  await using t = world();
  await t.own.put({ ...record("node", "n1", "web-1"), expires: new Date(t.seen.ms + 1_000) });
  expect((await t.names.others({ id: "" })).nodes.has("web-1")).toBe(true);
  t.seen.ms += 1_000;
  expect((await t.names.others({ id: "" })).nodes.has("web-1")).toBe(false);
});
