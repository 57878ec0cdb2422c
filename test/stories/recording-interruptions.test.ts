import { userInfo } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AuditEvent, auditEvents } from "../world/audited.ts";
import { type Cluster, startCluster } from "../world/cluster.ts";
import type { Agent } from "../world/cluster-agent.ts";
import type { User } from "../world/cluster-user.ts";
import { endsWithControl } from "../world/ends-with-control.ts";
import { holdSession } from "../world/held-session.ts";
import { type ListedRecording, listRecordings } from "../world/list-recordings.ts";
import { until } from "../world/until.ts";

/** What is shown is on the disk after this, ms: nothing tells. */
const flushMs = 1_500;
const login = userInfo().username;

/** A shell that says something, then waits for what is typed. */
const script = (word: string): string => `echo ${word}-begins; cat`;

class World implements AsyncDisposable {
  readonly cluster: Cluster;
  readonly agent: Agent;
  readonly alice: User;

  /** `split`: the proxy goes on while the auth service is away. */
  static async start(mode: string, split: boolean): Promise<World> {
    const cluster = await startCluster({ authService: `  session_recording: ${mode}\n`, split });
    const agent = await cluster.agent({ name: "web-1" });
    return new World(cluster, agent, await cluster.user("alice", { logins: login }));
  }

  private constructor(cluster: Cluster, agent: Agent, alice: User) {
    this.cluster = cluster;
    this.agent = agent;
    this.alice = alice;
  }

  async listed(): Promise<ListedRecording[]> {
    return await listRecordings(this.cluster);
  }

  /** The recording that was not there before, in this state. */
  async newest(before: readonly ListedRecording[], state: string): Promise<ListedRecording> {
    const known = new Set(before.map(({ sid }) => sid));
    return await until(
      `a recording is ${state}`,
      async () => (await this.listed()).find((one) => !known.has(one.sid) && one.state === state),
      90_000,
    );
  }

  async played(sid: string): Promise<string> {
    return (await this.alice.tsh(["play", sid])).stdout;
  }

  async events(name: string): Promise<AuditEvent[]> {
    return await auditEvents(this.cluster, name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cluster[Symbol.asyncDispose]();
  }
}

describe("a recording of mode node", () => {
  let world: World;
  beforeAll(async () => {
    world = await World.start("node", true);
  });
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
  });

  test("is at the auth service while the session runs", async () => {
    const before = await world.listed();
    await using session = holdSession(world.alice, ["ssh", "-tt", `${login}@web-1`, script("live")]);
    await session.until("live-begins");
    const { sid } = await world.newest(before, "running");
    await until("what was shown is there", async () => (await world.played(sid)) === session.shown());
  });

  test("of a killed agent is completed by the next one with all data on disk", async () => {
    const before = await world.listed();
    await using session = holdSession(world.alice, ["ssh", "-tt", `${login}@web-1`, script("kill")]);
    await session.until("kill-begins");
    const { sid } = await world.newest(before, "running");
    await until("what was shown is there", async () => (await world.played(sid)) === session.shown());
    // From here on the agent alone keeps what is shown.
    await world.cluster.control.kill();
    session.type("while it is away\n");
    await session.until(/away\r\n[\s\S]*away\r\n/);
    await sleep(flushMs);
    await world.agent.service.kill();
    world.agent.start();
    await world.cluster.restart();
    await world.agent.connected();
    expect((await world.newest(before, "interrupted")).sid).toBe(sid);
    expect(await world.played(sid)).toBe(session.shown());
    expect(await world.events("session.upload")).toContainEqual(expect.objectContaining({ sid, interrupted: true }));
  });

  test("continues while the auth service restarts, and is complete", async () => {
    const before = await world.listed();
    await using session = holdSession(world.alice, ["ssh", "-tt", `${login}@web-1`, script("restart")]);
    await session.until("restart-begins");
    await world.cluster.control.kill();
    session.type("while it is away\n");
    await session.until(/away\r\n[\s\S]*away\r\n/);
    await world.cluster.restart();
    session.type("\u0004");
    expect(await session.ended).toBe(0);
    const { sid } = await world.newest(before, "complete");
    expect(await world.played(sid)).toBe(session.shown());
  });

  test("of a client that is killed ends with its session", async () => {
    const before = await world.listed();
    {
      await using session = holdSession(world.alice, ["ssh", "-tt", `${login}@web-1`, script("gone")]);
      await session.until("gone-begins");
    }
    const { sid } = await world.newest(before, "complete");
    expect(await world.played(sid)).toMatch(/^gone-begins\r\n/);
  });
});

describe("a recording of mode node-sync", () => {
  test("ends the session with a clear word when the auth service takes nothing of it, and refuses a new one", async () => {
    const cluster = await startCluster({ authService: "  session_recording: node-sync\n", split: true });
    await using _world = { [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose]() };
    await cluster.agent({ name: "web-1" });
    const alice = await cluster.user("alice", { logins: login });
    await endsWithControl(cluster, alice, `${login}@web-1`);
    await cluster.restart().catch(() => {});
    const listed = await until("the recording is there", async () => {
      const found = await listRecordings(cluster);
      // The newest comes first; the one that was refused has nothing in it.
      const first = found.at(-1);
      return first?.state !== "running" && first;
    });
    expect((await alice.tsh(["play", listed.sid])).stdout).toMatch(/^sync-begins\r\ntick/);
  });
});

test("a recording whose link is cut is completed when the link is back", async () => {
  await using world = await World.start("node", false);
  await using session = holdSession(world.alice, ["ssh", "-tt", `${login}@web-1`, script("cut")]);
  await session.until("cut-begins");
  await world.cluster.control.kill();
  expect(await session.ended).not.toBe(0);
  await world.cluster.restart();
  const { sid } = await world.newest([], "complete");
  expect(await world.played(sid)).toMatch(/^cut-begins\r\n/);
});

describe("mode off", () => {
  test("records nothing", async () => {
    await using world = await World.start("off", false);
    await using session = holdSession(world.alice, ["ssh", "-tt", `${login}@web-1`, "echo off-begins"]);
    expect(await session.ended).toBe(0);
    await until("the end is audited", async () => (await world.events("session.end")).length > 0);
    expect(await world.listed()).toEqual([]);
  });
});
