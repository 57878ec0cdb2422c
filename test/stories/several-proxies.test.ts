import { writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auditEvents } from "../world/audited.ts";
import { type Cluster, startCluster } from "../world/cluster.ts";
import type { Agent } from "../world/cluster-agent.ts";
import type { ProxyProcess } from "../world/cluster-proxy.ts";
import type { User } from "../world/cluster-user.ts";
import { freePorts } from "../world/free-port.ts";
import { holdSession } from "../world/held-session.ts";
import { openProxyNetwork, type ProxyNetwork } from "../world/http-proxy/open-proxy-network.ts";
import { startSquid } from "../world/http-proxy/start-squid.ts";
import { openJumpStreams } from "../world/jump-streams.ts";
import { listRecordings } from "../world/list-recordings.ts";
import { skip } from "../world/openssh-keys.ts";
import { type Finished, program, run } from "../world/program.ts";
import { putRole } from "../world/put-role.ts";
import { type Processes, processes } from "../world/reload.ts";
import { type RoundRobin, startRoundRobin } from "../world/round-robin.ts";
import type { Service } from "../world/service.ts";
import { until } from "../world/until.ts";

const login = userInfo().username;
/** An HTTP proxy needs another address than this machine's own, and so a network. */
const isRoot = userInfo().uid === 0;

interface Status {
  readonly proxies: readonly { id: string; name: string; addr: string; connected: boolean; hosts: number }[];
  readonly warnings: readonly string[];
}

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
  const robot = (): string => join(cluster.dir, "robot.id");
  /** A session through the proxy of this address, by a machine's identity, which belongs to no proxy. */
  const through = (proxy: string, host = "web-1", limitMs = 20_000): Promise<Finished> =>
    run(program("tsh"), ["-i", robot(), `--proxy=${proxy}`, "ssh", `${login}@${host}`, "echo through"], {
      env: { TSH_HOME: join(cluster.dir, "nobody") },
      limitMs,
    });
  const status = async (): Promise<Status> => JSON.parse(await cluster.admin("status", "--format=json")) as Status;
  const proxyNames = async (host: string): Promise<readonly string[]> => {
    const nodes = JSON.parse(await cluster.admin("nodes", "ls", "--format=json")) as {
      spec: { hostname: string };
      status?: { proxies?: string[] };
    }[];
    const held = nodes.find(({ spec }) => spec.hostname === host)?.status?.proxies ?? [];
    return (await status()).proxies
      .filter(({ id }) => held.includes(id))
      .map(({ name }) => name)
      .sort();
  };
  const connectedTo = (host: string, names: readonly string[]) =>
    until(`${host} has tunnels to ${names.join(", ")}`, async () => (await proxyNames(host)).join() === names.toSorted().join());
  const idOf = async (host: string): Promise<string> => {
    const nodes = JSON.parse(await cluster.admin("nodes", "ls", "--format=json")) as { metadata: { name: string }; spec: { hostname: string } }[];
    return nodes.find(({ spec }) => spec.hostname === host)?.metadata.name ?? "";
  };
  /** A new user's identity, for who needs no login. */
  const identityOf = async (name: string, roles: string, ...more: string[]): Promise<string> => {
    const file = join(cluster.dir, `${name}.id`);
    await cluster.admin("users", "add", name, `--roles=${roles}`, `--logins=${login}`);
    await cluster.admin("auth", "sign", `--user=${name}`, "--ttl=8h", ...more, `--out=${file}`);
    return file;
  };
  const recorded = async (sid: string): Promise<string> => (await alice.tsh(["play", sid])).stdout;
  const recordingOf = async (state: string, isIt: (text: string) => boolean): Promise<string | undefined> => {
    for (const one of await listRecordings(cluster)) if (one.state === state && isIt(await recorded(one.sid))) return one.sid;
    return undefined;
  };
  /** Of the session that the killed proxy recorded. */
  let cutShort = "";
  const jump = (): string => join(cluster.dir, "jump");
  /** Stock ssh's configuration, with both proxies as jump hosts. */
  const jumpFile = async (): Promise<void> => {
    const key = join(cluster.dir, "stock");
    await cluster.admin("auth", "sign", "--user=alice", "--ttl=8h", "--format=openssh", `--out=${key}`);
    await writeFile(join(cluster.dir, "known"), await cluster.admin("auth", "export", "--type=host"));
    const host = (name: string, port: number): string => `Host ${name}\nHostName ${here()}\nHostKeyAlias ${name}.test.cluster\nPort ${port}\n`;
    const known = `StrictHostKeyChecking yes\nUserKnownHostsFile ${join(cluster.dir, "known")}\n`;
    const all = `Host *\nBatchMode yes\nIdentitiesOnly yes\n${known}IdentityFile ${key}\nCertificateFile ${key}-cert.pub\n`;
    await writeFile(jump(), `${host("proxy", sshPort)}${host("proxy-2", secondSshPort)}${all}`);
  };
  beforeAll(async () => {
    // Proxies record: the end of one proxy does not affect sessions of another.
    network = isRoot ? await openProxyNetwork() : undefined;
    [sshPort = 0, secondSshPort = 0] = await freePorts(2);
    const proxyService = `  listen_addr: ${here()}:${sshPort}\n`;
    cluster = await startCluster({ split: true, address: here(), authService: "  session_recording: proxy\n", proxyService });
    web = await cluster.agent({ name: "web-1" });
    alice = await cluster.user("alice", { logins: login, noLogin: true });
    const signed = await cluster.tctl(["auth", "sign", "--user=alice", "--ttl=8h", `--out=${robot()}`]);
    expect(signed.status, signed.stderr).toBe(0);
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
    await connectedTo("web-1", ["proxy", "proxy-2"]);
    expect((await status()).proxies).toMatchObject([
      { connected: true, hosts: 1 },
      { connected: true, hosts: 1 },
    ]);
    expect(web.service.printed().match(/tunnel is up/g)).toHaveLength(2);
    expect((await alice.login()).status).toBe(0);
    // One login holds at every proxy that was there.
    expect(await alice.tsh([`--proxy=${second.address}`, "ssh", `${login}@web-1`, "echo through"])).toMatchObject({ status: 0, stdout: "through\n" });
  });

  test("a session through one proxy is listed and joined through the other", async () => {
    await using session = holdSession(alice, ["ssh", "-tt", `${login}@web-1`, "echo begins; cat"]);
    await session.until("begins");
    const listed = await run(program("tsh"), ["-i", robot(), `--proxy=${second.address}`, "sessions", "ls", "--format=json"], {});
    const [{ sid = "" } = {}] = JSON.parse(listed.stdout) as { sid?: string }[];
    await using joined = holdSession(alice, ["-i", robot(), `--proxy=${second.address}`, "join", sid]);
    await joined.until("begins");
    session.type("\u0004");
    expect(await session.ended).toBe(0);
    expect(await joined.ended).toBe(0);
  });

  test.skipIf(skip)("stock ssh jumps through the SSH port of each", async () => {
    await jumpFile();
    for (const proxy of ["proxy", "proxy-2"]) {
      const done = await run("ssh", ["-F", jump(), "-J", proxy, `${login}@web-1.test.cluster`, "echo jumped"]);
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
    const own = second.address;
    await Promise.all([cluster.agent({ name: "behind-1", env }), cluster.agent({ name: "behind-2", env: { ...env, NO_PROXY: own } })]);
    const both = ["behind-1", "behind-2"].map(async (host) => {
      await connectedTo(host, ["proxy", "proxy-2"]);
      for (const proxy of [cluster.proxy, own]) expect(await through(proxy, host)).toMatchObject({ status: 0, stdout: "through\n" });
    });
    await Promise.all(both);
    const from = (service: Service | undefined, host: string): string | undefined =>
      new RegExp(`agent connected .*name=${host} peer=([\\d.]+):`).exec(service?.printed() ?? "")?.[1];
    const { here: directly, there: throughSquid } = network;
    expect(["behind-1", "behind-2"].map((host) => [from(cluster.proxyService, host), from(second.service, host)])).toEqual([
      [throughSquid, throughSquid],
      [throughSquid, directly],
    ]);
    for (const host of ["behind-1", "behind-2"]) await cluster.admin("nodes", "rm", await idOf(host));
  });

  test("a proxy is killed: sessions through the other go on, and tsh reaches the host at once through the one that is left", async () => {
    await using held = holdSession(alice, ["-i", robot(), `--proxy=${second.address}`, "ssh", "-tt", `${login}@web-1`, "echo begins; cat"]);
    await held.until("begins");
    await using cut = holdSession(alice, ["ssh", "-tt", `${login}@web-1`, "echo cut-begins; cat"]);
    await cut.until("cut-begins");
    cutShort = await until("what was shown is recorded", () => recordingOf("running", (text) => text.includes("cut-begins")));
    await cluster.proxyService?.kill();
    expect(await cut.ended).toBe(9);
    expect(await through(second.address)).toMatchObject({ status: 0, stdout: "through\n" });
    held.type("still here\n");
    await held.until(/still here[\s\S]*still here/);
    held.type("\u0004");
    expect(await held.ended).toBe(0);
    await until("its recording is complete", () => recordingOf("complete", (text) => text === held.shown()));
    // A user who logged in at the lost proxy goes through the other one automatically.
    const fallen = await alice.tsh(["ssh", `${login}@web-1`, "echo through"], { limitMs: 20_000 });
    expect(fallen).toMatchObject({
      status: 0,
      stdout: "through\n",
      stderr: expect.stringContaining(`cannot be reached: going through ${second.address}`),
    });
    await until("the lost proxy is reported", async () =>
      (await status()).warnings.some((text) => /^proxy proxy \(.*\) is not connected/.test(text)),
    );
    expect(await auditEvents(cluster, "agent.gone")).toEqual([]);
    expect(await proxyNames("web-1")).toEqual(["proxy-2"]);
    if (skip) return;
    const jumped = await run("ssh", ["-F", jump(), "-J", "proxy-2", `${login}@web-1.test.cluster`, "echo jumped"]);
    expect(jumped, jumped.stderr).toMatchObject({ status: 0, stdout: "jumped\n" });
  });

  test("two proxies behind one address of a load balancer: agents meet both, whether they joined there or not", async () => {
    balancer = await startRoundRobin([], here());
    behind = await Promise.all(["proxy-3", "proxy-4"].map((name) => cluster.addProxy({ name, publicAddr: balancer.address })));
    balancer.lead(behind.map(({ port }) => port));
    reloaded = await processes(join(cluster.dir, "agent-web-2", "agent.pid"), join(cluster.dir, "run-web-2"));
    await cluster.agent({ name: "web-2", proxy: balancer.address, env: reloaded.env });
    for (const host of ["web-1", "web-2"]) await connectedTo(host, ["proxy-2", "proxy-3", "proxy-4"]);
    for (const { address } of behind) {
      for (const host of ["web-1", "web-2"]) expect(await through(address, host)).toMatchObject({ status: 0, stdout: "through\n" });
    }
    expect(await through(second.address, "web-2")).toMatchObject({ status: 0, stdout: "through\n" });
    for (let count = 0; count < 4; count += 1) expect(await through(balancer.address)).toMatchObject({ status: 0, stdout: "through\n" });
  });

  test("a proxy is removed: agents leave it, and everybody else stays reachable", async () => {
    const { proxies } = await status();
    const fourth = proxies.find(({ name }) => name === "proxy-4");
    await cluster.admin("nodes", "rm", fourth?.id ?? "");
    await connectedTo("web-1", ["proxy-2", "proxy-3"]);
    await until("the agent has left it", () => web.service.printed().includes("this proxy is no longer part of the cluster"));
    expect((await status()).proxies.map(({ name }) => name).sort()).toEqual(["proxy", "proxy-2", "proxy-3"]);
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
    await connectedTo("web-1", ["proxy-2", "proxy-3"]);
    await cluster.restartProxy();
    await connectedTo("web-1", ["proxy", "proxy-2", "proxy-3"]);
    await until(
      "the recording that it left behind is sent as far as it goes",
      async () => (await listRecordings(cluster)).find(({ sid }) => sid === cutShort)?.state === "interrupted",
    );
    expect(await recorded(cutShort)).toContain("cut-begins");
    expect(await alice.tsh(["ssh", `${login}@web-1`, "echo through"], { limitMs: 20_000 })).toMatchObject({ status: 0, stdout: "through\n" });
  });

  test("an agent that is reloaded is reached through every proxy, and the session that it had goes on", async () => {
    const args = ["-i", robot(), `--proxy=${second.address}`, "ssh", "-tt", `${login}@web-2`, "echo begins; cat"];
    await using held = holdSession(alice, args);
    await held.until("begins");
    const main = await reloaded?.reload();
    expect(main).toMatchObject({ role: "main", ready: true });
    for (const proxy of [cluster.proxy, second.address, behind[0]?.address ?? ""]) {
      expect(await through(proxy, "web-2"), proxy).toMatchObject({ status: 0, stdout: "through\n" });
    }
    held.type("still here\n");
    await held.until(/still here[\s\S]*still here/);
    held.type("\u0004");
    expect(await held.ended).toBe(0);
    expect((await auditEvents(cluster, "agent.gone")).filter((event) => event.server_name === "web-2")).toEqual([]);
  });
});
