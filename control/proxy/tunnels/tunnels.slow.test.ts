import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openAuthClient } from "../../../core/api/auth-client.ts";
import { connectHost, joinTestHost, openControl, readInbox, startTestAgent } from "../../../test/inside/connect-agent.ts";
import { startTestCluster, type TestCluster } from "../../../test/inside/open-cluster.ts";

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await startTestCluster();
});
afterAll(async () => {
  await cluster[Symbol.asyncDispose]();
});

async function nodeStatus(id: string): Promise<unknown> {
  const { resources } = await cluster.admin.listResources({ kind: "node" });
  const found = resources.find((resource) => resource.name === id);
  return found === undefined ? undefined : (JSON.parse(found.json) as { status?: { connected: boolean } }).status?.connected;
}

describe("a tunnel", () => {
  test("is reported while it is up and when it ends", async () => {
    const agent = await startTestAgent(cluster, { hostname: "up" });
    expect(await nodeStatus(agent.id)).toBe(true);
    agent.end();
    await expect.poll(() => nodeStatus(agent.id)).toBe(false);
  });

  test("answers pings with the time that was sent and the access revision", async () => {
    const agent = await startTestAgent(cluster, { hostname: "pinger" });
    agent.send({ type: "ping", time: 42 });
    expect(await agent.next("pong")).toMatchObject({ time: 42, accessRevision: expect.stringMatching(/./) });
    agent.end();
  });

  test("speaks for its host while it is the newest: what an older process says counts again when the newer one is gone", async () => {
    const credentials = await joinTestHost(cluster, "twice");
    const older = await startTestAgent(cluster, { hostname: "twice", credentials, labels: { process: "older" } });
    const newer = await startTestAgent(cluster, { hostname: "twice", credentials, labels: { process: "newer" } });
    const label = async (): Promise<string | undefined> => {
      const { json } = await cluster.admin.getResource({ kind: "node", name: older.id });
      return (JSON.parse(json) as { metadata: { labels: Record<string, string> } }).metadata.labels.process;
    };
    expect(await label()).toBe("newer");
    older.send({ type: "status", status: { upgrader: "none", sessions: 1 } });
    older.send({ type: "ping", time: 1 });
    await older.next("pong");
    expect(await label()).toBe("newer");
    newer.end();
    await expect.poll(label).toBe("older");
    older.end();
  });

  test("tells with each pong which maintenance configuration holds", async () => {
    const agent = await startTestAgent(cluster, { hostname: "window" });
    const revision = async (): Promise<string | undefined> => {
      agent.send({ type: "ping", time: 1 });
      return (await agent.next("pong")).maintenanceRevision;
    };
    await expect.poll(revision).toBe("");
    const metadata = { name: "cluster-maintenance-config" };
    const document = { kind: "cluster_maintenance_config", metadata, spec: { agent_upgrades: { utc_start_hour: 2 } } };
    await cluster.admin.putResource({ json: JSON.stringify(document) });
    await expect.poll(revision).toMatch(/./);
    expect((await cluster.auth.localClient("proxy").exportUpgradeWindows({ upgrader: "unit" })).revision).toBe(await revision());
    await cluster.admin.deleteResource({ kind: "cluster_maintenance_config", name: metadata.name });
    await expect.poll(revision).toBe("");
    agent.end();
  });

  test("of a version that does not fit is taken, so that the host stays in reach, and said to the agent, in the log and to the admin", async () => {
    const fits = await startTestAgent(cluster, { hostname: "fits", version: "1.0.0" });
    const mute = await startTestAgent(cluster, { hostname: "mute", version: "" });
    expect([fits.notice, mute.notice]).toEqual([undefined, undefined]);
    const alien = await startTestAgent(cluster, { hostname: "alien", version: "17.0.0" });
    expect(alien.notice).toMatch(/^this agent is 17\.0\.0, newer by a major than the cluster \(1\..*upgrade the cluster first/);
    expect(cluster.lines.join("")).toMatch(/WARN .*incompatible agent version .*name=alien/);
    expect((await cluster.admin.getCluster({})).warnings.join("\n")).toMatch(/; alien \(17\.0\.0\): newer by a major/);
    for (const agent of [fits, mute, alien]) agent.end();
  });

  test("goes by a name of its certificate, whatever the agent calls itself", async () => {
    const credentials = await joinTestHost(cluster, "honest");
    const agent = await startTestAgent(cluster, { hostname: "somebody-else", credentials });
    const { registry } = cluster.proxy;
    expect(registry.find("somebody-else", "example.com")).toEqual([]);
    expect(registry.find("honest", "example.com")).toEqual(registry.ofHost(agent.id));
    agent.end();
  });

  test("passes on what the host says of itself, in its hello and later", async () => {
    const agent = await startTestAgent(cluster, { hostname: "talker" });
    const told = async (): Promise<unknown> => {
      const { json } = await cluster.admin.getResource({ kind: "node", name: agent.id });
      return (JSON.parse(json) as { status?: { host?: unknown } }).status?.host;
    };
    expect(await told()).toBeUndefined();
    const status = { upgrader: "unit", reason: "outside_window", sessions: 2 } as const;
    agent.send({ type: "status", status });
    await expect.poll(told).toEqual(status);
    agent.end();
  });

  test("tells the agent when roles change", async () => {
    const agent = await startTestAgent(cluster, { hostname: "listener" });
    await cluster.putRole("new-role", { allow: { logins: ["root"] } });
    expect((await agent.next("access")).accessRevision).not.toBe("");
    agent.end();
  });

  test("carries the agent's calls to the auth service", async () => {
    const agent = await startTestAgent(cluster, { hostname: "caller" });
    const open = () =>
      new Promise<import("node:stream").Duplex>((resolve, reject) => {
        agent.ssh.forwardOut("agent", 0, "platform-auth", 1, (error, channel) => (error ? reject(error) : resolve(channel)));
      });
    using connection = openAuthClient({ open, ca: cluster.hostCaPem });
    expect((await connection.client.getCluster({})).clusterName).toBe("main");
    agent.end();
  });

  test("refuses any other channel", async () => {
    const agent = await startTestAgent(cluster, { hostname: "curious" });
    const refused = new Promise((resolve) => agent.ssh.forwardOut("agent", 0, "127.0.0.1", 22, (error) => resolve(error)));
    expect(await refused).toBeInstanceOf(Error);
    const shell = new Promise((resolve) => agent.ssh.shell((error) => resolve(error)));
    expect(await shell).toBeInstanceOf(Error);
    agent.end();
  });

  test("is refused to a host of another cluster", async () => {
    await using foreign = await startTestCluster();
    const credentials = await joinTestHost(foreign, "stranger");
    await expect(connectHost(cluster, credentials)).rejects.toMatchObject({ name: "PlatformError" });
  });

  test("is refused to a host of another role", async () => {
    const credentials = await joinTestHost(cluster, "not-a-node", "proxy");
    await expect(connectHost(cluster, credentials)).rejects.toThrow(/role node/);
  });

  test("is refused under another host's name", async () => {
    const credentials = await joinTestHost(cluster, "impostor");
    await expect(connectHost(cluster, credentials, "11111111-1111-4111-8111-111111111111")).rejects.toMatchObject({ code: "unauthenticated" });
  });

  test("ends when its host is removed, and is refused from then on with the reason", async () => {
    const credentials = await joinTestHost(cluster, "doomed");
    const agent = await startTestAgent(cluster, { hostname: "doomed", credentials });
    const ended = once(agent.ssh, "close");
    await cluster.admin.deleteResource({ kind: "node", name: agent.id });
    await ended;
    await expect(startTestAgent(cluster, { hostname: "doomed", credentials })).rejects.toThrow();
    expect(cluster.proxy.registry.ofHost(agent.id)).toEqual([]);
  });

  test.for([
    { name: "a message that is too long", bytes: Buffer.of(0x7f, 0xff, 0xff, 0xff) },
    { name: "garbage", bytes: Buffer.from([0, 0, 0, 3, 1, 2, 3]) },
    { name: "something else than hello", bytes: Buffer.concat([Buffer.of(0, 0, 0, 23), Buffer.from('{"type":"ping","time":1}').subarray(0, 23)]) },
  ])("ends for $name, and others go on", async ({ bytes }) => {
    const other = await startTestAgent(cluster, { hostname: "other" });
    const ssh = await connectHost(cluster, await joinTestHost(cluster, "hostile"));
    const channel = await openControl(ssh);
    const inbox = readInbox(channel);
    channel.write(bytes);
    await expect(inbox("welcome")).rejects.toThrow();
    other.send({ type: "ping", time: 7 });
    expect((await other.next("pong")).time).toBe(7);
    other.end();
  });

  test("ends after 45 s of silence", async () => {
    const agent = await startTestAgent(cluster, { hostname: "silent" });
    const [tunnel] = cluster.proxy.registry.ofHost(agent.id);
    const now = performance.now();
    tunnel?.silentFor(now);
    expect(cluster.proxy.registry.sweep(now + 44_000)).not.toContain(tunnel);
    const ended = once(agent.ssh, "close");
    expect(cluster.proxy.registry.sweep(now + 46_000)).toContain(tunnel);
    await ended;
  });

  test("is notified of a drain before it ends", async () => {
    const own = await startTestCluster();
    const agent = await startTestAgent(own, { hostname: "leaving" });
    const ended = once(agent.ssh, "close");
    const notice = agent.next("drain");
    await own.proxy.drain(0);
    await notice;
    await own[Symbol.asyncDispose]();
    await ended;
  });
});
