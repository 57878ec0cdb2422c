import { writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { describe, expect, test } from "vitest";
import { type Cluster, startCluster } from "../world/cluster.ts";
import type { User } from "../world/cluster-user.ts";
import { openNetwork } from "../world/network.ts";
import { output } from "../world/program.ts";
import { until } from "../world/until.ts";

const root = userInfo().uid === 0;
const login = userInfo().username;

async function shellComesBack(user: User): Promise<void> {
  const done = await until(
    "a shell after the break",
    async () => {
      const tried = await user.tsh(["ssh", `${login}@web-1`, "echo back"], { limitMs: 15_000 });
      return tried.status === 0 && tried;
    },
    150_000,
  );
  expect(done.stdout).toBe("back\n");
}

test("an idle tunnel and a silent session outlive three heartbeats", { timeout: 120_000 }, async () => {
  await using cluster = await startCluster();
  const agent = await cluster.agent({ name: "web-1" });
  const user = await cluster.user("alice", { logins: login });
  // Three heartbeats of 15 s and some: the length of the silence is what is tested.
  const done = await user.tsh(["ssh", `${login}@web-1`, "sleep 50; echo still here"], { limitMs: 90_000 });
  expect(done).toMatchObject({ stdout: "still here\n", status: 0 });
  expect(agent.service.printed().match(/tunnel is up/g)).toHaveLength(1);
});

describe("the tunnel comes back by itself", () => {
  test.for(["multiplex", "separate"] as const)("after control was restarted, and after the agent was (%s)", { timeout: 180_000 }, async (mode) => {
    await using cluster: Cluster = await startCluster({ mode });
    const agent = await cluster.agent({ name: "web-1" });
    const user = await cluster.user("alice", { logins: login });
    await cluster.restart();
    await shellComesBack(user);
    await agent.service.stop();
    agent.start();
    await agent.connected();
    await shellComesBack(user);
  });

  test("after the agent's host was asleep for longer than the heartbeats last", { timeout: 240_000 }, async () => {
    await using cluster = await startCluster();
    const agent = await cluster.agent({ name: "web-1" });
    const user = await cluster.user("alice", { logins: login });
    process.kill(agent.service.pid, "SIGSTOP");
    try {
      await until(
        "control takes the agent for dead",
        async () => {
          const nodes = JSON.parse(await cluster.admin("get", "node", "--format=json")) as { status?: { connected: boolean } }[];
          return nodes[0]?.status?.connected === false;
        },
        60_000,
      );
    } finally {
      process.kill(agent.service.pid, "SIGCONT");
    }
    await shellComesBack(user);
  });

  test.runIf(root)("after the network was cut and restored, and after the proxy's address changed", { timeout: 300_000 }, async () => {
    await using network = await openNetwork();
    await output("nft", ["insert", "rule", "inet", "fw", "out", "accept"], { netns: network.agent });
    await using cluster = await startCluster({ address: "0.0.0.0", name: "control.test", netns: network.control });
    await cluster.agent({ name: "web-1", netns: network.agent });
    const user = await cluster.user("alice", { logins: login });
    await shellComesBack(user);
    await network.link("down");
    await until(
      "control notices",
      async () => {
        const nodes = JSON.parse(await cluster.admin("get", "node", "--format=json")) as { status?: { connected: boolean } }[];
        return nodes[0]?.status?.connected === false;
      },
      60_000,
    );
    await network.link("up");
    await shellComesBack(user);

    const moved = network.controlAddress.replace(/\.2$/, ".3");
    for (const space of [network.agent, network.control, network.proxy]) {
      await writeFile(`/etc/netns/${space}/hosts`, `127.0.0.1 localhost\n${moved} control.test\n${network.proxyAddress} proxy.test\n`);
    }
    await output("ip", ["-n", network.control, "addr", "del", `${network.controlAddress}/24`, "dev", "c0"]);
    await output("ip", ["-n", network.control, "addr", "add", `${moved}/24`, "dev", "c0"]);
    await output("ip", ["-n", network.control, "route", "replace", "default", "via", network.controlAddress.replace(/\.2$/, ".1")]);
    await shellComesBack(user);
  });
});
