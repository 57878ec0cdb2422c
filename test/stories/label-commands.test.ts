import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cluster, startCluster } from "../world/cluster.ts";
import type { Agent } from "../world/cluster-agent.ts";
import { putRole } from "../world/put-role.ts";
import { until } from "../world/until.ts";

/** Labels whose values commands print, and who may reach a host by them. */
describe("labels from commands", { timeout: 120_000 }, () => {
  let cluster: Cluster;
  let agent: Agent;
  let file: string;
  beforeAll(async () => {
    cluster = await startCluster();
    file = join(cluster.dir, "tier");
    await writeFile(file, "web\n");
    const tier = `    - name: tier\n      command: [/bin/cat, ${file}]\n      period: 1s\n`;
    const broken = "    - name: broken\n      command: [/bin/false]\n";
    const hanging = '    - name: hanging\n      command: [/bin/sleep, "300"]\n      period: 1s\n';
    agent = await cluster.agent({ name: "web-1", labels: { env: "dev" }, sshService: `  commands:\n${tier}${broken}${hanging}` });
    await putRole(cluster, "web-only", { allow: { logins: ["root"], node_labels: { tier: "web" } } });
  }, 120_000);
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });

  test("a role lets in by the value of now, and shuts out when it is another", async () => {
    const user = await cluster.user("alice", { roles: "web-only" });
    const shown = async (): Promise<string> => await cluster.admin("get", "node", "--format=json");
    expect(JSON.parse(await shown())).toMatchObject([{ metadata: { labels: { env: "dev", tier: "web" } } }]);
    expect((await user.tsh(["ssh", "root@web-1", "echo in"])).stdout).toBe("in\n");
    await writeFile(file, "db\n");
    await until(
      "the inventory shows the other value",
      async () => (await shown()).includes('"tier": "db"') || (await shown()).includes('"tier":"db"'),
    );
    const refused = await user.tsh(["ssh", "root@web-1", "echo in"]);
    expect(refused.status).not.toBe(0);
    expect(refused.stdout).toBe("");
    await writeFile(file, "web\n");
    await until("the value is back", async () => (await user.tsh(["ssh", "root@web-1", "echo in"])).stdout === "in\n");
  });

  test("commands that fail or hang hold nothing up, give no label and are named in the log", async () => {
    const text = await cluster.admin("get", "node", "--format=json");
    expect(text).not.toMatch(/"(broken|hanging)"/);
    expect(agent.service.printed()).toMatch(/label command failed.*label=broken.*exit status 1/);
    expect(agent.service.printed()).toMatch(/label command failed.*label=hanging.*within 1 s/);
  });
});
