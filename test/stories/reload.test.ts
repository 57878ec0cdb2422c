import { copyFile, mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cluster, startCluster } from "../world/cluster.ts";
import type { Agent } from "../world/cluster-agent.ts";
import type { User } from "../world/cluster-user.ts";
import { program } from "../world/program.ts";
import { type Processes, processes } from "../world/reload.ts";
import { allWell, startLoad } from "../world/session-load.ts";
import { until } from "../world/until.ts";

const login = userInfo().username;

/** A reload replaces the process: what is open goes on to its end in the old one, and nothing new waits for long or fails. */
describe.each(["one control", "auth and proxy apart"] as const)("a reload with %s", (layout) => {
  let dir: string;
  let cluster: Cluster;
  let agent: Agent;
  let user: User;
  const services: Record<string, Processes> = {};
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "platform-reload-"));
    const platform = join(dir, "platform");
    await copyFile(program("platform"), platform);
    for (const name of ["control", "agent"]) await mkdir(join(dir, name));
    cluster = await startCluster({ platform, split: layout !== "one control", env: { RUNTIME_DIRECTORY: join(dir, "control") } });
    agent = await cluster.agent({ name: "web-1", platform, env: { RUNTIME_DIRECTORY: join(dir, "agent") } });
    user = await cluster.user("alice", { logins: login });
    services.agent = await processes(join(agent.dir, "agent.pid"), join(dir, "agent"));
    services.control = await processes(join(cluster.dir, "control.pid"), join(dir, "control"));
    if (layout !== "one control") services.proxy = await processes(join(cluster.dir, "proxy.pid"), join(dir, "control"));
  }, 120_000);
  afterAll(async () => {
    for (const service of Object.values(services)) await service[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
    await rm(dir, { recursive: true, force: true });
  });

  test("cuts no shell, no transfer, no OpenSSH connection and no forwarded port, and fails no login: agent, then control, then both at once", {
    timeout: 240_000,
  }, async () => {
    const options = { target: `${login}@web-1`, folder: dir, bytes: 500_000_000, bytesPerSecond: 10_000_000, everyMs: 1_000 };
    await using load = await startLoad(user, options);
    const { agent: onHost, ...controls } = services as { agent: Processes };
    await onHost.reload();
    await load.stillThere();
    for (const service of Object.values<Processes>(controls)) {
      await service.reload();
      await load.stillThere();
    }
    await Promise.all(Object.values(services).map((service) => service.reload()));
    await load.stillThere();
    const sessions = (await onHost.all()).map(({ role, sessions: open }) => [role, open > 0]);
    // The shell, the transfer and OpenSSH go on in the process that was there at first.
    expect(sessions).toContainEqual(["draining", true]);
    expect(await load.transferred).toBe(true);
    expect(await load.finish()).toEqual(allWell);
    expect(load.logins.failures).toEqual([]);
    expect(load.logins.waitsMs.length).toBeGreaterThan(20);
    await until("all that were replaced have ended", async () => {
      const all = (await Promise.all(Object.values(services).map((service) => service.all()))).flat();
      return all.every(({ role }) => role === "main");
    });
  });

  test("leaves one process with its status socket, and a session that sees no descriptor of it", { timeout: 60_000 }, async () => {
    const done = await user.tsh(["ssh", `${login}@web-1`, "ls -l /proc/self/fd | awk '{print $9, $11}'"]);
    expect(done.stdout.split("\n").filter((line) => /^([3-9]|\d\d+) /.test(line) && !line.includes("/proc/"))).toEqual([]);
    const main = await services.agent?.main();
    expect(await readdir(join(dir, "agent"))).toEqual([`status-${main}.sock`]);
    expect(await services.agent?.status(main as number)).toMatchObject({ ready: true, role: "main", services: ["ssh"], tunnels: 1, draining: [] });
  });
});
