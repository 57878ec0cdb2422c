import { expect, test } from "vitest";
import { openTestAuth, request, testKeys } from "../open-test-auth.ts";

test("without any roll-out every host is named, and counted by version, updater and reason, until it is removed", async () => {
  await using t = await openTestAuth();
  const join = async (hostname: string, ...reports: readonly { connected: boolean; statusJson?: string }[]): Promise<string> => {
    const { secret } = await t.admin.createToken({ roles: ["node"] });
    const { hostId } = await t.connect().join({ token: secret, role: "node", hostname, ...request(testKeys()) });
    for (const report of reports) await t.auth.localClient("proxy").reportNode({ hostId, hostname, version: "1.2.3", ...report });
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
    ]),
  );
  await t.admin.deleteResource({ kind: "node", name: web1 });
  expect((await lines()).filter((line) => line.includes("web1"))).toEqual([]);
});
