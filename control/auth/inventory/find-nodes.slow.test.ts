import { randomUUID } from "node:crypto";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Node } from "../../../core/resources/node.ts";
import { addUser, loggedIn, openTestAuth, type TestAuth } from "../../../test/inside/open-auth.ts";
import { openSqlite } from "../../storage/sqlite.ts";
import { findNodes } from "./find-nodes.ts";
import { hostWrite } from "./host-records.ts";
import { LiveNodes } from "./live-nodes.ts";

function nodeNamed(hostname: string, labels: Record<string, string>): Node {
  return { kind: "node", version: "v2", metadata: { name: randomUUID(), labels }, spec: { hostname, services: ["ssh"], version: "1.2.3" } };
}

async function addNode(t: TestAuth, hostname: string, labels: Record<string, string>): Promise<void> {
  await t.admin.putResource({ json: JSON.stringify(nodeNamed(hostname, labels)) });
}

type Client = TestAuth["admin"];
interface Wanted {
  readonly labels?: Record<string, string>;
  readonly search?: string[];
  readonly query?: string;
}

async function names(client: Client, wanted: Wanted): Promise<readonly string[]> {
  const { resources } = await client.listResources({ kind: "node", ...wanted });
  return resources.map(({ json }) => (JSON.parse(json) as { spec: { hostname: string } }).spec.hostname).sort();
}

async function fleet(): Promise<TestAuth> {
  const t = await openTestAuth();
  await addNode(t, "web-1", { env: "prod", team: "web" });
  await addNode(t, "web-2", { env: "staging", team: "web" });
  await addNode(t, "db-1", { env: "prod", team: "db" });
  return t;
}

test("nodes are found by labels, by words and by a query; all that is given must hold", async () => {
  await using t = await fleet();
  expect(await names(t.admin, {})).toEqual(["db-1", "web-1", "web-2"]);
  expect(await names(t.admin, { labels: { env: "prod" } })).toEqual(["db-1", "web-1"]);
  expect(await names(t.admin, { labels: { env: "prod", team: "db" } })).toEqual(["db-1"]);
  expect(await names(t.admin, { labels: { env: "pro" } })).toEqual([]);
  expect(await names(t.admin, { labels: { toString: "x" } })).toEqual([]);
  expect(await names(t.admin, { search: ["WEB", "prod"] })).toEqual(["web-1"]);
  expect(await names(t.admin, { query: 'labels["env"] == "prod" && !hasPrefix(name, "db-")' })).toEqual(["web-1"]);
  expect(await names(t.admin, { query: 'status == "offline"', labels: { team: "web" }, search: ["stag"] })).toEqual(["web-2"]);
});

test("a query that cannot be read is refused, and so is a filter for what has none", async () => {
  await using t = await fleet();
  const refused = (message: RegExp) => ({ code: "invalid", message: expect.stringMatching(message) });
  await expect(t.admin.listResources({ kind: "node", query: 'labels["env"] ==' })).rejects.toMatchObject(refused(/at its end/));
  await expect(t.admin.listResources({ kind: "node", search: Array.from({ length: 65 }, () => "a") })).rejects.toMatchObject(refused(/at most 64/));
  await expect(t.admin.listResources({ kind: "role", query: 'name == "a"' })).rejects.toMatchObject(refused(/filters are only supported/));
  await expect(t.admin.listResources({ kind: "node", cursor: "../role/" })).rejects.toMatchObject(refused(/cursor/));
});

test("a fleet of more nodes than one stretch comes page by page, each once", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "platform-nodes-"));
  const storage = openSqlite({ path: join(folder.path, "auth", "state.sqlite"), now: () => new Date() });
  const writes = Array.from({ length: 1_100 }, (_, n) => hostWrite("node", nodeNamed(`host-${n}`, { even: String(n % 2 === 0) })));
  await storage.batch(writes);
  const found: string[] = [];
  const wanted = { labels: { even: "true" }, search: [], query: "", limit: 100 };
  let pages = 0;
  for (let cursor: string | undefined = ""; cursor !== undefined; pages += 1) {
    const page = await findNodes({ storage, live: new LiveNodes() }, { ...wanted, cursor });
    expect(page.nodes.length).toBeLessThanOrEqual(100);
    found.push(...page.nodes.map(({ metadata }) => metadata.name));
    cursor = page.cursor === "" ? undefined : page.cursor;
  }
  await storage.close();
  expect(pages).toBe(6);
  expect(found).toHaveLength(550);
  expect(new Set(found).size).toBe(550);
});

test("a user without a rule for nodes finds only those that its roles reach, whatever it asks", async () => {
  await using t = await fleet();
  const role = { kind: "role", version: "v7", metadata: { name: "web" }, spec: { allow: { logins: ["root"], node_labels: { team: "web" } } } };
  await t.admin.putResource({ json: JSON.stringify(role) });
  const client = await loggedIn(t, await addUser(t, "alice", { roles: ["web"] }));
  expect(await names(client, {})).toEqual(["web-1", "web-2"]);
  expect(await names(client, { query: 'labels["team"] == "db" || labels["env"] == "prod"' })).toEqual(["web-1"]);
  expect(await names(client, { labels: { team: "db" } })).toEqual([]);
  const { resources } = await t.admin.listResources({ kind: "node", labels: { team: "db" } });
  await expect(client.getResource({ kind: "node", name: resources[0]?.name ?? "" })).rejects.toMatchObject({ code: "not_found" });
});
