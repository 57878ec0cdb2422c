import { userInfo } from "node:os";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cluster, startCluster } from "../world/cluster.ts";
import type { Agent } from "../world/cluster-agent.ts";
import type { User } from "../world/cluster-user.ts";
import { rounds } from "../world/rounds.ts";
import { until } from "../world/until.ts";

/**
 * kill -9 of control and of the agent at random moments while an admin works: what tctl acknowledged is still there, and
 * everything comes back by itself.
 */
describe("kill -9", () => {
  const moments = rounds(50, 6);
  const login = userInfo().username;
  let cluster: Cluster;
  let agent: Agent;
  let user: User;
  beforeAll(async () => {
    cluster = await startCluster();
    agent = await cluster.agent({ name: "web-1" });
    user = await cluster.user("alice", { logins: login });
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });

  test(`of control and agent at ${moments} random moments loses nothing acknowledged`, { timeout: moments * 30_000 }, async () => {
    const acknowledged = new Set<string>();
    let stop = false;
    const admin = (async () => {
      for (let n = 0; !stop; n += 1) {
        const name = `role-${n}`;
        const role = { kind: "role", version: "v7", metadata: { name }, spec: { allow: { logins: [`user${n}`] } } };
        const done = await cluster.tctl(["create", "-"], { input: JSON.stringify(role), limitMs: 20_000 });
        if (done.status === 0) acknowledged.add(name);
      }
    })();
    for (let moment = 0; moment < moments; moment += 1) {
      // Not a wait for anything: the moment is what is random.
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 700));
      if (moment % 2 === 0) {
        await cluster.control.kill();
        await cluster.restart();
      } else {
        await agent.service.kill();
        agent.start();
      }
    }
    stop = true;
    await admin;
    await agent.connected();
    const roles = JSON.parse(await cluster.admin("get", "role", "--format=json")) as { metadata: { name: string } }[];
    const names = new Set(roles.map((role) => role.metadata.name));
    expect(acknowledged.size).toBeGreaterThan(0);
    expect([...acknowledged].filter((name) => !names.has(name))).toEqual([]);
    const done = await until("a shell", async () => {
      const tried = await user.tsh(["ssh", `${login}@web-1`, "echo back"]);
      return tried.status === 0 && tried;
    });
    expect(done.stdout).toBe("back\n");
  });
});
