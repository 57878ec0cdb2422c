import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Cluster } from "../world/cluster.ts";
import type { Agent } from "../world/cluster-agent.ts";
import type { User } from "../world/cluster-user.ts";
import { type DirectWorld, openDirectWorld, printAddress } from "../world/direct-world.ts";
import { startSession } from "../world/held-session.ts";
import { type Finished, program, run } from "../world/program.ts";
import { type Processes, processes } from "../world/reload.ts";
import { until } from "../world/until.ts";

/** What happens to an agent in direct mode while it lives: restarts, reloads, locks, other names. */
describe.skipIf(process.getuid?.() !== 0)("an agent that listens", () => {
  let world: DirectWorld;
  let cluster: Cluster;
  let web1: Agent;
  let user: User;
  let service: Processes;
  const tsh = (...args: string[]): Promise<Finished> => user.tsh(args);
  const netns = (): string => world.hosts.control.netns;
  beforeAll(async () => {
    world = await openDirectWorld();
    ({ cluster, user } = world);
    const runtime = join(cluster.dir, "runtime");
    await mkdir(runtime);
    const platform = join(cluster.dir, "platform");
    await copyFile(program("platform"), platform);
    web1 = await world.agent("web-1", "one", { platform, env: { RUNTIME_DIRECTORY: runtime } });
    service = await processes(join(web1.dir, "agent.pid"), runtime);
  }, 120_000);
  afterAll(async () => {
    await service?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  test("a reload refuses no connection and cuts no session", { timeout: 120_000 }, async () => {
    await using session = await startSession(user, "root@web-1", "echo up; cat", netns());
    const failures: string[] = [];
    let logins = 0;
    let isOver = false;
    const knocking = (async () => {
      while (!isOver) {
        const done = await tsh("ssh", "root@web-1", "true");
        logins += 1;
        if (done.status !== 0) failures.push(done.stderr);
      }
    })();
    const next = await service.reload();
    expect(next).toMatchObject({ ready: true, role: "main", tunnels: 0 });
    session.type("goes on\n");
    await session.until("goes on");
    const after = logins + 2;
    await until("two more have logged in", () => logins >= after);
    isOver = true;
    await knocking;
    expect(failures).toEqual([]);
    // The old process serves what it has, and ends with it.
    expect((await service.all()).map(({ role, sessions }) => [role, sessions > 0])).toContainEqual(["draining", true]);
    session.type("\u0004");
    await session[Symbol.asyncDispose]();
    await until("the old process has ended", async () => (await service.all()).length === 1);
    expect((await tsh("ls")).stdout).toContain(`${world.hosts.one.address}:3022`);
  });

  test("another public_addr is in its certificate after a reload, and the old one is not", { timeout: 120_000 }, async () => {
    const config = join(web1.dir, "platform.yaml");
    const text = await readFile(config, "utf8");
    const principals = async (): Promise<string> => {
      const { sshCertificate } = JSON.parse(await readFile(join(web1.dir, "data", "agent", "credentials.json"), "utf8")) as {
        sshCertificate: string;
      };
      return (await run("ssh-keygen", ["-L", "-f", "-"], { input: sshCertificate })).stdout;
    };
    for (const [name, other] of [
      ["first.test", "second.test"],
      ["second.test", "first.test"],
    ] as const) {
      await writeFile(config, `${text}  public_addr: ["${name}", "${world.hosts.one.address}:3022"]\n`);
      await service.reload();
      await until(`the certificate is for ${name}`, async () => (await principals()).includes(`${name}\n`));
      expect(await principals()).not.toContain(other);
      const reached = await until("it is reached by that name", async () => {
        const done = await tsh("ssh", `root@${name}`, printAddress);
        return done.status === 0 && done;
      });
      expect(reached.stdout).toBe(`${world.hosts.one.address}\n`);
    }
    expect((await tsh("ssh", "root@first.test", "true")).status).toBe(5);
    expect((await tsh("ssh", "root@web-1", "echo by name")).stdout).toBe("by name\n");
  });

  test("a lock ends its sessions within seconds, and a removed lock lets in again", async () => {
    await using session = await startSession(user, "root@web-1", "echo up; cat", netns());
    await cluster.admin("lock", "--user=alice", "--message=gone for today");
    expect(await session.ended).not.toBe(0);
    const locked = await tsh("ssh", "root@web-1", "true");
    expect(locked.stderr).toMatch(/gone for today/);
    const locks = JSON.parse(await cluster.admin("get", "locks", "--format=json")) as { metadata: { name: string } }[];
    for (const { metadata } of locks) await cluster.admin("rm", `lock/${metadata.name}`);
    await until("alice is let in again", async () => (await tsh("ssh", "root@web-1", "true")).status === 0);
  });

  test("a restart of control leaves the agent within reach", { timeout: 120_000 }, async () => {
    await cluster.restart();
    await until("it is reached again", async () => (await tsh("ssh", "root@web-1", "echo back")).stdout === "back\n");
    await until("it is shown where it is", async () => (await tsh("ls")).stdout.includes(`${world.hosts.one.address}:3022`));
  });

  test("platform doctor on such a host goes the way to the auth service, and looks at the port", { timeout: 60_000 }, async () => {
    const doctor = async (agent: Agent, host: "one" | "two"): Promise<{ findings: { check: string; outcome: string; says: string }[] }> => {
      const args = ["doctor", "--config", join(agent.dir, "platform.yaml"), "--environment-file=/nowhere", "--format=json"];
      const done = await run(program("platform"), args, { netns: world.hosts[host].netns });
      return JSON.parse(done.stdout) as Awaited<ReturnType<typeof doctor>>;
    };
    const well = await doctor(web1, "one");
    expect(well.findings.filter(({ outcome }) => outcome !== "ok")).toEqual([]);
    expect(well.findings.map(({ check }) => check).slice(-3)).toEqual(["certificate", "access", "port"]);
    expect(well.findings.at(-1)?.says).toMatch(/this host's agent listens at 127\.0\.0\.1:3022/);
    const down = await world.agent("down", "two");
    await down.service.stop();
    const { findings } = await doctor(down, "two");
    expect(findings.at(-1)).toMatchObject({ check: "port", outcome: "failed", says: "no agent answers at 127.0.0.1:3022" });
  });

  test("a stopping agent reports it; a removed one is no longer reachable, and its sessions end", { timeout: 120_000 }, async () => {
    const web2 = await world.agent("web-2", "two");
    await web2.service.stop();
    await until("it is offline", async () => /web-2 +\(offline\)/.test((await tsh("ls")).stdout));
    web2.start();
    await web2.connected();
    await using session = await startSession(user, "root@web-2", "echo up; cat", netns());
    await cluster.admin("nodes", "rm", await world.idOf("web-2"));
    expect(await session.ended).not.toBe(0);
    const gone = await tsh("ssh", "root@web-2", "true");
    expect(gone).toMatchObject({ status: 5 });
    expect(gone.stderr).toMatch(/no host "web-2" is connected/);
  });
});
