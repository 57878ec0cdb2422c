import { existsSync } from "node:fs";
import { readdir, rename, stat } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cluster, startCluster } from "../world/cluster.ts";
import type { Agent } from "../world/cluster-agent.ts";
import type { User } from "../world/cluster-user.ts";
import { output } from "../world/program.ts";
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
    const load = makeRoles("role");
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
    const acknowledged = await load.stop();
    await agent.connected();
    expect(acknowledged.length).toBeGreaterThan(0);
    expect(await missing(acknowledged)).toEqual([]);
    await shell();
  });

  test("a copy that tctl backup made under load is restored: agent and user come back, nothing acknowledged before it is lost", {
    timeout: 240_000,
  }, async () => {
    const load = makeRoles("kept");
    const file = join(cluster.dir, "backup.tar.gz");
    const back = (name: string): string[] => ["backup", name, "--config", join(cluster.dir, "control.yaml")];
    // Cut at some moment, it leaves the whole file or none.
    for (const ms of [150, 400, 700]) {
      const cut = join(cluster.dir, `cut-${ms}.tar.gz`);
      await cluster.tctl(back(cut), { limitMs: ms }).catch(() => {});
      if (existsSync(cut)) await output("tar", ["-tzf", cut]);
    }
    await until("roles are made", () => load.acknowledged.length > 3 || undefined);
    const before = [...load.acknowledged];
    const done = await cluster.tctl(back(file));
    expect(done).toMatchObject({ status: 0, stderr: expect.stringContaining("private keys") });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await cluster.tctl(back(file))).toMatchObject({ status: 6, stderr: expect.stringContaining("already exists") });
    await load.stop();
    await cluster.control.kill();
    await rename(join(cluster.dir, "control"), join(cluster.dir, "control-lost"));
    await rename(join(cluster.dir, "control.yaml"), join(cluster.dir, "control-lost.yaml"));
    await output("tar", ["-xpf", file, "-C", "/"]);
    await cluster.restart();
    await agent.connected();
    expect(before.length).toBeGreaterThan(3);
    expect(await missing(before)).toEqual([]);
    // With the certificates of before, and with a new login.
    await shell();
    expect(await user.login()).toMatchObject({ status: 0 });
    expect((await cluster.admin("audit", "ls", "--event=user.login")).split("\n").length).toBeGreaterThan(2);
    await cluster.control.stop();
    // As before a move: with nothing running, and it starts again.
    expect(await cluster.tctl(back(join(cluster.dir, "stopped.tar.gz")))).toMatchObject({ status: 0 });
    expect((await readdir(cluster.dir)).filter((name) => name.endsWith(".part"))).toEqual([]);
    await cluster.restart();
  });

  /** An admin who makes one role after the other. */
  function makeRoles(prefix: string): { readonly acknowledged: readonly string[]; stop(): Promise<readonly string[]> } {
    const acknowledged: string[] = [];
    let isStopped = false;
    const admin = (async () => {
      for (let n = 0; !isStopped; n += 1) {
        const name = `${prefix}-${n}`;
        const role = { kind: "role", version: "v7", metadata: { name }, spec: { allow: { logins: [`user${n}`] } } };
        const done = await cluster.tctl(["create", "-"], { input: JSON.stringify(role), limitMs: 20_000 });
        if (done.status === 0) acknowledged.push(name);
      }
    })();
    const stop = async (): Promise<readonly string[]> => {
      isStopped = true;
      await admin;
      return acknowledged;
    };
    return { acknowledged, stop };
  }

  async function missing(wanted: readonly string[]): Promise<readonly string[]> {
    const roles = JSON.parse(await cluster.admin("get", "role", "--format=json")) as { metadata: { name: string } }[];
    const names = new Set(roles.map((role) => role.metadata.name));
    return wanted.filter((name) => !names.has(name));
  }

  async function shell(): Promise<void> {
    const done = await until("a shell", async () => {
      const tried = await user.tsh(["ssh", `${login}@web-1`, "echo back"]);
      return tried.status === 0 && tried;
    });
    expect(done.stdout).toBe("back\n");
  }
});
