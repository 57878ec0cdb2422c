import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { truncate, writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cluster, startCluster } from "../world/cluster.ts";
import type { Agent } from "../world/cluster-agent.ts";
import type { User } from "../world/cluster-user.ts";
import { cleanEnv, program } from "../world/program.ts";
import { until } from "../world/until.ts";

interface Cut {
  readonly name: string;
  /** Until all have noticed, ms. */
  readonly limitMs: number;
  readonly cut: () => Promise<unknown>;
  readonly mend: () => Promise<unknown>;
}

/** Whatever is cut off, while it sends, receives or waits, ends with a failure and with words. */
describe("a connection that is lost", () => {
  const login = userInfo().username;
  const host = `${login}@web-1`;
  let cluster: Cluster;
  let agent: Agent;
  let user: User;
  let big: string;
  beforeAll(async () => {
    cluster = await startCluster();
    agent = await cluster.agent({ name: "web-1" });
    user = await cluster.user("alice", { logins: login });
    big = join(cluster.dir, "big");
    await writeFile(big, "");
    // Holes: it takes no room, and longer than any test.
    await truncate(big, 2 ** 40);
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });

  interface Running {
    readonly name: string;
    readonly child: ChildProcess;
    readonly says: () => string;
    readonly closed: Promise<unknown>;
  }

  /** `tsh` with endless input, or with one that stays open and silent. */
  function begin(name: string, args: readonly string[], input: "endless" | "silent"): Running {
    const zero = openSync("/dev/zero", "r");
    const child = spawn(program("tsh"), args, {
      env: cleanEnv({ TSH_HOME: user.home }),
      stdio: [input === "endless" ? zero : "pipe", "ignore", "pipe"],
    });
    closeSync(zero);
    let says = "";
    child.stderr?.on("data", (chunk: Buffer) => {
      says += chunk.toString();
    });
    return { name, child, says: () => says, closed: once(child, "close") };
  }

  function beginAll(): readonly Running[] {
    return [
      begin("ssh sends", ["ssh", host, "echo ready >&2; cat > /dev/null"], "endless"),
      begin("ssh sends what nobody reads", ["ssh", host, "echo ready >&2; sleep 600"], "endless"),
      begin("ssh receives", ["ssh", host, "echo ready >&2; cat /dev/zero"], "silent"),
      begin("ssh waits", ["ssh", host, "echo ready >&2; sleep 600"], "silent"),
      begin("ssh on a terminal waits", ["ssh", "-tt", "-v", host, "sleep 600"], "silent"),
      // Its stock ssh says what was lost: here the end counts.
      begin("proxy ssh", ["proxy", "ssh", host], "silent"),
      begin("ssh forwards", ["ssh", "-N", "-v", host], "silent"),
      begin("a subsystem waits", ["ssh", "-s", "-v", host, "sftp"], "silent"),
      begin("scp sends", ["scp", big, `${host}:/dev/null`], "silent"),
      begin("scp receives", ["scp", `${host}:${big}`, "/dev/null"], "silent"),
    ];
  }

  const cuts: readonly Cut[] = [
    { name: "the agent is killed", limitMs: 40_000, cut: () => agent.service.kill(), mend: async () => agent.start() },
    {
      name: "control is killed",
      limitMs: 40_000,
      cut: () => cluster.control.kill(),
      mend: () => cluster.restart(),
    },
    {
      name: "the agent falls silent",
      limitMs: 90_000,
      cut: async () => process.kill(agent.service.pid, "SIGSTOP"),
      mend: async () => {
        await agent.service.kill();
        agent.start();
      },
    },
    {
      name: "the user is locked",
      limitMs: 40_000,
      cut: () => cluster.admin("lock", "--user=alice"),
      mend: async () => {},
    },
  ];

  test.for(cuts)("$name: every command fails with a message", { timeout: 150_000 }, async ({ cut, mend, limitMs }) => {
    await agent.connected();
    const listed = async (): Promise<readonly string[]> => (await user.tsh(["sessions", "ls", "--format=names"])).stdout.split("\n").filter(Boolean);
    // Those of a killed agent stay listed for a while.
    const before = await listed();
    const running = [...beginAll()];
    let isCut = false;
    try {
      const isConnected = ({ name, says }: Running): boolean => /^(?:scp|proxy)/.test(name) || /ready|logged in/.test(says());
      await until("all of them are connected", () => running.every(isConnected)).catch((cause: unknown) => {
        throw new Error(running.map(({ name, says }) => `${name}: ${says()}`).join("\n"), { cause });
      });
      const sid = await until("the terminal is listed", async () => (await listed()).find((one) => !before.includes(one)));
      running.push(begin("join", ["join", "--mode=peer", sid], "silent"));
      // Any moment will do.
      await delay(200 + Math.random() * 1000);
      expect(running.filter(({ child }) => child.exitCode !== null).map(({ name, says }) => `${name}: ${says()}`)).toEqual([]);
      isCut = true;
      await cut();
      await until("all have ended", () => running.every(({ child }) => child.exitCode !== null || child.signalCode !== null), limitMs);
      await Promise.all(running.map(({ closed }) => closed));
      for (const { name, child, says } of running.filter((one) => one.name !== "proxy ssh")) {
        const how = `${name}: ${says()}`;
        expect(child.exitCode, how).toBeGreaterThan(0);
        expect(child.signalCode, how).toBeNull();
        expect(says(), how).toMatch(/^(?:ERROR|platform): ./m);
        expect(says(), how).not.toMatch(/internal|ended before it was done/);
      }
    } finally {
      for (const { child } of running) child.kill("SIGKILL");
      if (isCut) await mend();
    }
  });

  test("tctl and tsh ls, whenever control is killed or stops responding, either succeed or fail with a message", {
    timeout: 120_000,
  }, async () => {
    const call = () => cluster.tctl(["get", "roles", "--format=json"], { limitMs: 60_000 });
    expect((await call()).status).toBe(0);
    const reader = await cluster.user("bob", { logins: login });
    const list = () => reader.tsh(["ls", "--format=json"], { limitMs: 60_000 });
    const calls = Array.from({ length: 8 }, async (_, index) => {
      await delay(index * 40 + Math.random() * 60);
      return await (index % 2 === 0 ? call() : list());
    });
    await delay(Math.random() * 500);
    await cluster.control.kill();
    for (const done of await Promise.all(calls)) {
      if (done.status === 0)
        expect(JSON.parse(done.stdout)).toEqual(
          expect.arrayContaining([expect.objectContaining({ kind: expect.stringMatching(/^(?:role|node)$/) })]),
        );
      else expect(done).toMatchObject({ stdout: "", stderr: expect.stringMatching(/^ERROR: /) });
    }
    await cluster.restart();
    process.kill(cluster.control.pid, "SIGSTOP");
    try {
      expect(await call()).toMatchObject({
        status: expect.toSatisfy((status: number) => status > 0),
        stdout: "",
        stderr: expect.stringMatching(/^ERROR: /),
      });
    } finally {
      process.kill(cluster.control.pid, "SIGCONT");
    }
  });
});
