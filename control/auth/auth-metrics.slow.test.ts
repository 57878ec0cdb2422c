import { join } from "node:path";
import { expect, test } from "vitest";
import { openTestAuth } from "../../test/inside/open-auth.ts";
import { generateKeys, publicKeys } from "../../test/inside/user-keys.ts";
import { openSqlite } from "../storage/sqlite.ts";

test("without any roll-out every host is named, and counted by version, updater and reason, until it is removed", async () => {
  await using t = await openTestAuth();
  const join = async (hostname: string, ...reports: readonly { connected: boolean; statusJson?: string }[]): Promise<string> => {
    const { secret } = await t.admin.createToken({ roles: ["node"] });
    const { hostId } = await t.connect().join({ token: secret, role: "node", hostname, ...publicKeys(generateKeys()) });
    for (const report of reports) await t.auth.localClient("proxy").reportNode({ hostId, hostname, version: "1.2.3", services: ["ssh"], ...report });
    return hostId;
  };
  const statusJson = JSON.stringify({ upgrader: "unit", reason: "up_to_date" });
  const web1 = await join("web1", { connected: true, statusJson });
  const web2 = await join("web2", { connected: true }, { connected: false });
  const lines = async () => (await t.auth.metrics()).split("\n");
  expect(await lines()).toEqual(
    expect.arrayContaining([
      `platform_agent_connected{host="${web1}",hostname="web1"} 1`,
      `platform_agent_connected{host="${web2}",hostname="web2"} 0`,
      'platform_hosts{version="1.2.3",upgrader="unit"} 1',
      'platform_hosts{version="1.2.3",upgrader="unknown"} 1',
      'platform_host_upgrade_reason{reason="up_to_date"} 1',
      'platform_hosts_offering{service="ssh"} 1',
    ]),
  );
  await t.admin.deleteResource({ kind: "node", name: web1 });
  expect((await lines()).filter((line) => line.includes("web1"))).toEqual([]);
});

test("what is named by labels has no series while there is nothing to name", async () => {
  await using t = await openTestAuth();
  const samples = (await t.auth.metrics()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  expect(samples).toEqual(["platform_agents_gone 0", "platform_agents_stopped 0"]);
});

test("of a fleet of any size ten thousand hosts are named one by one, and a thousand that are gone", async () => {
  await using t = await openTestAuth();
  const writes = Array.from({ length: 10_050 }, (_, index) => {
    const name = `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`;
    const node = { kind: "node", version: "v2", metadata: { name }, spec: { hostname: `web${index}`, services: [], version: "1.0.0" } };
    const gone = { kind: "gone", hostname: `web${index}`, since: 0 };
    return [
      { key: `/node/${name}`, value: JSON.stringify(node) },
      ...(index < 1_050 ? [{ key: `/presence/${name}`, value: JSON.stringify(gone) }] : []),
    ];
  });
  const storage = openSqlite({ path: join(t.dataDir, "auth", "state.sqlite") });
  await storage.batch(writes.flat());
  await storage.close();
  await t.restart();
  const text = await t.auth.metrics();
  expect(text.match(/^platform_agent_connected\{/gm)).toHaveLength(10_000);
  expect(text.match(/^platform_agent_gone\{/gm)).toHaveLength(1_000);
  expect(text).toMatch(/^platform_agents_gone 1050$/m);
  expect(text).toMatch(/^platform_hosts\{version="1\.0\.0",upgrader="unknown"\} 10050$/m);
});
