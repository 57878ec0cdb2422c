import { once } from "node:events";
import { readdir, writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cluster, startCluster } from "../world/cluster.ts";
import type { Agent } from "../world/cluster-agent.ts";
import type { User } from "../world/cluster-user.ts";
import { program, run, start } from "../world/program.ts";
import { until } from "../world/until.ts";

const login = userInfo().username;

interface Listed {
  readonly sid: string;
  readonly user: string;
  readonly login: string;
  readonly server_name: string;
  readonly state: string;
}

/** `session_recording: proxy`: the proxy stands between user and host, and neither notices. */
describe("recording at the proxy", () => {
  let cluster: Cluster;
  let agent: Agent;
  let alice: User;
  beforeAll(async () => {
    cluster = await startCluster({ authService: "  session_recording: proxy\n" });
    agent = await cluster.agent({ name: "web-1" });
    alice = await cluster.user("alice", { logins: login });
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
  });
  const listed = async (): Promise<Listed[]> => JSON.parse(await cluster.admin("recordings", "ls", "--format=json")) as Listed[];

  test("a terminal of tsh is recorded at the proxy, under the session's id, and nothing at the host", async () => {
    const child = start(program("tsh"), ["ssh", "-tt", `${login}@web-1`, "stty size; echo shown; exit 3"], { env: { TSH_HOME: alice.home } });
    const chunks: Buffer[] = [];
    child.stdout?.on("data", (chunk: Buffer) => chunks.push(chunk));
    const [status] = (await once(child, "close")) as [number];
    expect([status, Buffer.concat(chunks).toString()]).toEqual([3, expect.stringContaining("shown")]);
    const one = await until("the recording is complete", async () => (await listed()).find(({ state }) => state === "complete"));
    expect(one).toMatchObject({ user: "alice", login, server_name: "web-1" });
    const played = await alice.tsh(["play", one.sid]);
    expect(played.raw.equals(Buffer.concat(chunks))).toBe(true);
    const events = (await cluster.admin("audit", "ls", "--format=json")).trim().split("\n");
    expect(events.some((line) => line.includes("session.start") && line.includes(one.sid))).toBe(true);
    expect(await readdir(join(agent.dir, "data", "agent", "recordings"))).toEqual([]);
  });

  test("stock ssh, scp and forwarding work through it", async () => {
    const config = join(alice.home, "ssh-config");
    await writeFile(config, (await alice.tsh(["config"])).stdout);
    const env = { TSH_HOME: alice.home, PATH: `${join(program("tsh"), "..")}:${process.env.PATH ?? ""}` };
    const base = ["-F", config, "-o", "BatchMode=yes"];
    const host = `${login}@web-1.test.cluster`;
    const done = await run("ssh", [...base, host, "cat; exit 5"], { env, input: "through" });
    expect([done.status, done.stdout]).toEqual([5, "through"]);
    const copied = await run("scp", [...base, config, `${host}:${cluster.dir}/copied`], { env });
    expect([copied.status, copied.stderr]).toEqual([0, ""]);
    expect((await alice.tsh(["scp", config, `${login}@web-1:${cluster.dir}/copied-2`])).status).toBe(0);
    const refused = await run("ssh", [...base, "-W", "127.0.0.1:1", host], { env });
    expect(refused.stderr).toContain("refused");
    const before = (await listed()).length;
    await run("ssh", [...base, "-tt", host, "echo stock"], { env });
    await until("it is recorded", async () => (await listed()).length > before || undefined);
  });
});
