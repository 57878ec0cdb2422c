import { userInfo } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auditEvents } from "../world/audited.ts";
import { type Cluster, startCluster } from "../world/cluster.ts";
import type { Agent } from "../world/cluster-agent.ts";
import type { ProxyProcess } from "../world/cluster-proxy.ts";
import type { User } from "../world/cluster-user.ts";
import { freePorts } from "../world/free-port.ts";
import { type HeldSession, holdSession } from "../world/held-session.ts";
import { openProxyNetwork, type ProxyNetwork } from "../world/http-proxy/open-proxy-network.ts";
import { startSquid } from "../world/http-proxy/start-squid.ts";
import { writeJumpConfig } from "../world/jump-config.ts";
import { openJumpStreams } from "../world/jump-streams.ts";
import { findPlayed, listRecordings } from "../world/list-recordings.ts";
import { clusterStatus, connectedTo, listedHost, proxiesOf } from "../world/listed-proxies.ts";
import { skip } from "../world/openssh-keys.ts";
import { type Finished, program, run } from "../world/program.ts";
import { putRole } from "../world/put-role.ts";
import { type Processes, processes } from "../world/reload.ts";
import { type RoundRobin, startRoundRobin } from "../world/round-robin.ts";
import type { Service } from "../world/service.ts";
import { echoThrough, signIdentity } from "../world/signed-identity.ts";
import { until } from "../world/until.ts";

const login = userInfo().username;
/** An HTTP proxy needs another address than this machine's own, and so a network. */
const isRoot = userInfo().uid === 0;

/** One cluster through the life of its proxies: the tests build on each other, in this order. */
describe("several proxies", () => {
  let cluster: Cluster;
  let web: Agent;
  let alice: User;
  let second: ProxyProcess;
  let balancer: RoundRobin;
  let behind: readonly ProxyProcess[];
  let reloaded: Processes | undefined;
  let network: ProxyNetwork | undefined;
  /** Where the first two proxies are jump hosts. */
  let [sshPort, secondSshPort] = [0, 0];
  const here = (): string => network?.here ?? "127.0.0.1";
  /** Path of alice's identity for machines. */
  let robot = "";
  const through = (proxy: string, host = "web-1"): Promise<Finished> => echoThrough(cluster, { identity: robot, proxy, at: `${login}@${host}` });
  /** A new user's identity, for a test that needs no login. */
  const identityOf = async (name: string, roles: string, ...more: string[]): Promise<string> => {
    await cluster.admin("users", "add", name, `--roles=${roles}`, `--logins=${login}`);
    return await signIdentity(cluster, name, ...more);
  };
  /** Of the session that the killed proxy recorded. */
  let cutShort = "";
  /** Path of stock ssh's configuration, with both proxies as jump hosts. */
  let jump = "";
  /** The session still echoes, and ends when its input does. */
  const goesOn = async (session: HeldSession): Promise<void> => {
    session.type("still here\n");
    await session.until(/still here[\s\S]*still here/);
    session.type("\u0004");
    expect(await session.ended).toBe(0);
  };
  beforeAll(async () => {
    // Proxies record: the end of one proxy does not affect sessions of another.
    network = isRoot ? await openProxyNetwork() : undefined;
    [sshPort = 0, secondSshPort = 0] = await freePorts(2);
    const proxyService = `  listen_addr: ${here()}:${sshPort}\n`;
    cluster = await startCluster({ split: true, address: here(), authService: "  session_recording: proxy\n", proxyService });
    web = await cluster.agent({ name: "web-1" });
    alice = await cluster.user("alice", { logins: login, noLogin: true });
    robot = await signIdentity(cluster, "alice");
  });
  afterAll(async () => {
    await reloaded?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
    await balancer?.[Symbol.asyncDispose]();
    await network?.[Symbol.asyncDispose]();
  });

  test("a proxy that is added has a tunnel of every agent at once: the first session through it gets in", async () => {
    second = await cluster.addProxy({ name: "proxy-2", proxyService: `  listen_addr: ${here()}:${secondSshPort}\n` });
    expect(await through(second.address)).toMatchObject({ status: 0, stdout: "through\n" });
    expect(await through(cluster.proxy)).toMatchObject({ status: 0, stdout: "through\n" });
    await connectedTo(cluster, "web-1", ["proxy", "proxy-2"]);
    const one = { connected: true, hosts: 1 };
    expect((await clusterStatus(cluster)).proxies).toMatchObject([one, one]);
    expect(web.service.printed().match(/tunnel is up/g)).toHaveLength(2);
    expect((await alice.login()).status).toBe(0);
    // One login holds at every proxy that was there.
    expect(await alice.tsh([`--proxy=${second.address}`, "ssh", `${login}@web-1`, "echo through"])).toMatchObject({ status: 0, stdout: "through\n" });
  });

  test("a session through one proxy is listed and joined through the other", async () => {
    await using session = holdSession(alice, ["ssh", "-tt", `${login}@web-1`, "echo begins; cat"]);
    await session.until("begins");
    const listed = await run(program("tsh"), ["-i", robot, `--proxy=${second.address}`, "sessions", "ls", "--format=json"], {});
    const [{ sid = "" } = {}] = JSON.parse(listed.stdout) as { sid?: string }[];
    await using joined = holdSession(alice, ["-i", robot, `--proxy=${second.address}`, "join", sid]);
    await joined.until("begins");
    session.type("\u0004");
    expect(await session.ended).toBe(0);
    expect(await joined.ended).toBe(0);
  });

  test.skipIf(skip)("stock ssh jumps through the SSH port of each", async () => {
    jump = await writeJumpConfig(cluster, { user: "alice", address: here(), ports: { proxy: sshPort, "proxy-2": secondSshPort } });
    for (const proxy of ["proxy", "proxy-2"]) {
      const done = await run("ssh", ["-F", jump, "-J", proxy, `${login}@web-1.test.cluster`, "echo jumped"]);
      expect(done, done.stderr).toMatchObject({ status: 0, stdout: "jumped\n" });
    }
  });

  test("max_connections counts through all proxies", async () => {
    await putRole(cluster, "one-at-a-time", { options: { max_connections: 1 } });
    const bob = await identityOf("bob", "access,one-at-a-time");
    const args = (proxy: string) => ["-i", bob, `--proxy=${proxy}`, "ssh", "-tt", `${login}@web-1`, "echo begins; cat"];
    await using first = holdSession(alice, args(cluster.proxy));
    await first.until("begins");
    await using other = holdSession(alice, args(second.address));
    expect(await other.ended).not.toBe(0);
    expect(other.told()).toContain("bob already has 1 connection to this cluster (max_connections)");
    first.type("\u0004");
    expect(await first.ended).toBe(0);
    await using next = holdSession(alice, args(second.address));
    await next.until("begins");
    next.type("\u0004");
    expect(await next.ended).toBe(0);
  });

  test("one user who has all the streams that each of two proxies gives keeps nobody else out of the host", async () => {
    const identity = await identityOf("carol", "access", "--format=openssh");
    const ask = { host: here(), identity, target: "web-1", count: 500 };
    using first = await openJumpStreams(cluster, { ...ask, port: sshPort });
    using other = await openJumpStreams(cluster, { ...ask, port: secondSshPort });
    expect([first.count, other.count]).toEqual([500, 500]);
    for (const proxy of [cluster.proxy, second.address]) expect(await through(proxy)).toMatchObject({ status: 0, stdout: "through\n" });
  });

  test.skipIf(!isRoot)("an agent behind an HTTP proxy keeps a tunnel to each through it, and goes directly to one that NO_PROXY names", async () => {
    if (network === undefined) throw new Error("needs a network");
    await using squid = await startSquid({ address: network.there, netns: network.netns });
    const env = { HTTPS_PROXY: squid.httpUrl };
    await Promise.all([cluster.agent({ name: "behind-1", env }), cluster.agent({ name: "behind-2", env: { ...env, NO_PROXY: second.address } })]);
    const both = ["behind-1", "behind-2"].map(async (host) => {
      await connectedTo(cluster, host, ["proxy", "proxy-2"]);
      for (const proxy of [cluster.proxy, second.address]) expect(await through(proxy, host)).toMatchObject({ status: 0, stdout: "through\n" });
    });
    await Promise.all(both);
    const from = (service: Service | undefined, host: string): string | undefined =>
      new RegExp(`agent connected .*name=${host} peer=([\\d.]+):`).exec(service?.printed() ?? "")?.[1];
    const { here: directly, there: throughSquid } = network;
    expect(["behind-1", "behind-2"].map((host) => [from(cluster.proxyService, host), from(second.service, host)])).toEqual([
      [throughSquid, throughSquid],
      [throughSquid, directly],
    ]);
    for (const host of ["behind-1", "behind-2"]) await cluster.admin("nodes", "rm", (await listedHost(cluster, host))?.metadata.name ?? "");
  });

  test("a proxy is killed: sessions through the other go on, and tsh reaches the host at once through the one that is left", async () => {
    await using held = holdSession(alice, ["-i", robot, `--proxy=${second.address}`, "ssh", "-tt", `${login}@web-1`, "echo begins; cat"]);
    await held.until("begins");
    await using cut = holdSession(alice, ["ssh", "-tt", `${login}@web-1`, "echo cut-begins; cat"]);
    await cut.until("cut-begins");
    cutShort = await until("what was shown is recorded", () =>
      findPlayed(cluster, { user: alice, state: "running", isIt: (text) => text.includes("cut-begins") }),
    );
    await cluster.proxyService?.kill();
    expect(await cut.ended).toBe(9);
    expect(await through(second.address)).toMatchObject({ status: 0, stdout: "through\n" });
    await goesOn(held);
    await until("its recording is complete", () => findPlayed(cluster, { user: alice, state: "complete", isIt: (text) => text === held.shown() }));
    // A user who logged in at the lost proxy goes through the other one automatically.
    const fallen = await alice.tsh(["ssh", `${login}@web-1`, "echo through"], { limitMs: 20_000 });
    const stderr = expect.stringContaining(`cannot be reached: going through ${second.address}`);
    expect(fallen).toMatchObject({ status: 0, stdout: "through\n", stderr });
    await until("the lost proxy is reported", async () =>
      (await clusterStatus(cluster)).warnings.some((text) => /^proxy proxy \(.*\) is not connected/.test(text)),
    );
    expect(await auditEvents(cluster, "agent.gone")).toEqual([]);
    expect(await proxiesOf(cluster, "web-1")).toEqual(["proxy-2"]);
    if (skip) return;
    const jumped = await run("ssh", ["-F", jump, "-J", "proxy-2", `${login}@web-1.test.cluster`, "echo jumped"]);
    expect(jumped, jumped.stderr).toMatchObject({ status: 0, stdout: "jumped\n" });
  });

  test("two proxies behind one address of a load balancer: agents meet both, whether they joined there or not", async () => {
    balancer = await startRoundRobin([], here());
    behind = await Promise.all(["proxy-3", "proxy-4"].map((name) => cluster.addProxy({ name, publicAddr: balancer.address })));
    balancer.lead(behind.map(({ port }) => port));
    reloaded = await processes(join(cluster.dir, "agent-web-2", "agent.pid"), join(cluster.dir, "run-web-2"));
    await cluster.agent({ name: "web-2", proxy: balancer.address, env: reloaded.env });
    for (const host of ["web-1", "web-2"]) await connectedTo(cluster, host, ["proxy-2", "proxy-3", "proxy-4"]);
    for (const { address } of behind) {
      for (const host of ["web-1", "web-2"]) expect(await through(address, host)).toMatchObject({ status: 0, stdout: "through\n" });
    }
    expect(await through(second.address, "web-2")).toMatchObject({ status: 0, stdout: "through\n" });
    for (let count = 0; count < 4; count += 1) expect(await through(balancer.address)).toMatchObject({ status: 0, stdout: "through\n" });
  });

  test("a proxy is removed: agents leave it, and everybody else stays reachable", async () => {
    const fourth = (await clusterStatus(cluster)).proxies.find(({ name }) => name === "proxy-4");
    const before = web.service.printed().length;
    await cluster.admin("nodes", "rm", fourth?.id ?? "");
    await connectedTo(cluster, "web-1", ["proxy-2", "proxy-3"]);
    // The list without it, or the end of its tunnel, whichever reaches the agent first.
    await until("the agent has left it", () => /this proxy is no longer part of the cluster|tunnel ended/.test(web.service.printed().slice(before)));
    expect((await clusterStatus(cluster)).proxies.map(({ name }) => name).sort()).toEqual(["proxy", "proxy-2", "proxy-3"]);
    balancer.lead(behind.slice(0, 1).map(({ port }) => port));
    expect(await through(second.address)).toMatchObject({ status: 0 });
    expect(await auditEvents(cluster, "agent.gone")).toEqual([]);
  });

  test("a proxy that agents cannot reach: users, admins and the host's doctor get the reason", async () => {
    const fifth = await cluster.addProxy({ name: "proxy-5", publicAddr: "nowhere.invalid:443" });
    const refused = await through(fifth.address);
    expect(refused.status).not.toBe(0);
    expect(refused.stderr).toMatch(/web-1 is connected to proxy .*proxy-2 \([\d.]+:\d+\).*, but not to this one yet/);
    expect(refused.stderr).toMatch(/use that proxy: tsh --proxy=[\d.]+:\d+/);
    expect(await cluster.admin("nodes", "ls")).toMatch(/connected to proxy-[23], proxy-[23] \(2 of 3 proxies\)/);
    const doctor = await run(program("platform"), ["doctor", "--config", join(cluster.dir, "agent-web-2", "platform.yaml"), "--format=json"], {});
    expect(doctor.stdout).toContain("proxy-5 at nowhere.invalid:443");
    // A host that joined there continues where it joined: the name that the proxy announces does not prevent it.
    await cluster.agent({ name: "web-3", proxy: fifth.address });
    expect(await through(fifth.address, "web-3")).toMatchObject({ status: 0, stdout: "through\n" });
  });

  test("a proxy that comes back is met again, and an agent that starts while its own proxy is away finds the others", async () => {
    await web.service.stop();
    web.start();
    await connectedTo(cluster, "web-1", ["proxy-2", "proxy-3"]);
    await cluster.restartProxy();
    await connectedTo(cluster, "web-1", ["proxy", "proxy-2", "proxy-3"]);
    await until(
      "the recording that it left behind is sent as far as it goes",
      async () => (await listRecordings(cluster)).find(({ sid }) => sid === cutShort)?.state === "interrupted",
    );
    expect((await alice.tsh(["play", cutShort])).stdout).toContain("cut-begins");
    expect(await alice.tsh(["ssh", `${login}@web-1`, "echo through"], { limitMs: 20_000 })).toMatchObject({ status: 0, stdout: "through\n" });
  });

  test("an agent that is reloaded is reached through every proxy, and the session that it had goes on", async () => {
    const args = ["-i", robot, `--proxy=${second.address}`, "ssh", "-tt", `${login}@web-2`, "echo begins; cat"];
    await using held = holdSession(alice, args);
    await held.until("begins");
    const main = await reloaded?.reload();
    expect(main).toMatchObject({ role: "main", ready: true });
    for (const proxy of [cluster.proxy, second.address, behind[0]?.address ?? ""]) {
      expect(await through(proxy, "web-2"), proxy).toMatchObject({ status: 0, stdout: "through\n" });
    }
    await goesOn(held);
    expect((await auditEvents(cluster, "agent.gone")).filter((event) => event.server_name === "web-2")).toEqual([]);
  });
});
