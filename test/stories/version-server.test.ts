import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auditEvents } from "../world/audited.ts";
import { type Cluster, startCluster } from "../world/cluster.ts";
import type { Agent } from "../world/cluster-agent.ts";
import { proxyConfig } from "../world/cluster-config.ts";
import type { User } from "../world/cluster-user.ts";
import { freePorts } from "../world/free-port.ts";
import { makeOtherVersion, type OtherVersion } from "../world/other-version.ts";
import { program, run } from "../world/program.ts";
import { type Service, startService } from "../world/service.ts";
import { until } from "../world/until.ts";

const base = "/v1/webapi/automaticupgrades/channel";

interface Answer {
  readonly status: number;
  readonly headers: string;
  readonly text: string;
}

async function get(address: string, path: string): Promise<Answer> {
  const { stdout } = await run("curl", ["-sk", "--http1.1", "--max-time", "20", "-D", "-", "-w", "\n%{http_code}", `https://${address}${path}`]);
  const [head = "", ...rest] = stdout.split("\r\n\r\n");
  const body = rest.join("\r\n\r\n");
  const end = body.lastIndexOf("\n");
  return { status: Number(body.slice(end + 1)), headers: head.toLowerCase(), text: body.slice(0, end) };
}

/** Another version server, on this machine. */
async function startUpstream(version: string): Promise<{ server: Server; port: number; stop: () => Promise<void> }> {
  const server = createServer((request, response) => void response.end(request.url?.endsWith("/critical") ? "yes\n" : `${version}\n`));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const stop = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  };
  return { server, port: (server.address() as AddressInfo).port, stop };
}

describe("the version server", () => {
  test("forwards, and serves the last good answer while the upstream is gone, also after a restart", async () => {
    const upstream = await startUpstream("0.9.7");
    const channels = `  automatic_upgrades_channels:\n    stable/cloud:\n      forward_url: http://127.0.0.1:${upstream.port}/v1\n`;
    await using cluster = await startCluster({ proxyService: channels });
    expect(await get(cluster.proxy, `${base}/default/version`)).toMatchObject({ status: 200, text: "v0.9.7" });
    expect(await get(cluster.proxy, `${base}/stable/cloud/critical`)).toMatchObject({ status: 200, text: "yes" });
    expect((await get(cluster.proxy, `${base}/stable/cloud/version`)).headers).not.toContain("platform-upgrade-stale");
    expect((await get(cluster.proxy, `${base}/beta/version`)).status).toBe(404);
    await upstream.stop();
    await cluster.restart();
    const answer = await get(cluster.proxy, `${base}/stable/cloud/version`);
    expect(answer).toMatchObject({ status: 200, text: "v0.9.7" });
    expect(answer.headers).toMatch(/^platform-upgrade-stale: \d+$/m);
    expect(cluster.control.printed()).toMatch(/the upstream version server fails .*serving=v0\.9\.7/);
  });
});

/** A cluster, its hosts and its people with two majors between them: the tests build on each other, in this order. */
describe("versions that do not fit", () => {
  let newer: OtherVersion;
  let cluster: Cluster;
  let web: Agent;
  let alice: User;
  let own = "";
  let folder = "";
  /** What control runs is behind a link, so that it can become another version. */
  const current = (): string => join(folder, "platform");
  const become = async (executable: string): Promise<void> => {
    await rm(current(), { force: true });
    await symlink(executable, current());
  };
  const warnings = async (): Promise<string[]> => (JSON.parse(await cluster.admin("status", "--format=json")) as { warnings: string[] }).warnings;
  /** The same host from now on, in this version. */
  const runAs = async (platform?: string): Promise<void> => {
    await web.service.stop();
    web = await cluster.agent({ name: "web-1", ...(platform !== undefined && { platform }) });
  };
  const refusedJoin = async (name: string, platform?: string): Promise<string> => {
    await using agent = await cluster.agent({ name, noWait: true, ...(platform !== undefined && { platform }) });
    await until("the agent gives up", () => agent.service.exited);
    return agent.service.printed();
  };
  const doctor = async (name: string, platform = program("platform")) => {
    const asked = await run(platform, ["doctor", "--config", join(cluster.dir, `agent-${name}`, "platform.yaml"), "--format=json"]);
    return JSON.parse(asked.stdout) as { stops_at: string; findings: { check: string; outcome: string; says: string; hint?: string }[] };
  };
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "platform-versions-"));
    newer = await makeOtherVersion("3.0.0");
    await become(program("platform"));
    own = (await run(program("platform"), ["version"])).stdout.trim().replace(/^platform /, "");
    cluster = await startCluster({ platform: current() });
    web = await cluster.agent({ name: "web-1" });
    alice = await cluster.user("alice", { noLogin: true, logins: userInfo().username });
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    await newer?.[Symbol.asyncDispose]();
    if (folder !== "") await rm(folder, { recursive: true });
  });

  test("without configuration a proxy serves its own version", async () => {
    const { text } = await get(cluster.proxy, `${base}/default/version`);
    expect(text).toBe(`v${own}`);
    expect((await get(cluster.proxy, `${base}/stable/cloud/version`)).text).toBe(text);
    expect(await warnings()).toEqual([]);
  });

  test("a host that is newer by a major does not join, and its doctor says why beforehand", async () => {
    const why = `this host is 3.0.0, newer by a major than the cluster (${own})`;
    expect(await refusedJoin("new-1", newer.platform)).toContain(why);
    const { stops_at: stopsAt, findings } = await doctor("new-1", newer.platform);
    expect(stopsAt).toBe("token");
    expect(findings).toContainEqual(
      expect.objectContaining({ check: "token", says: why, hint: `upgrade the cluster first, or install ${own} here` }),
    );
    expect(findings).toContainEqual(expect.objectContaining({ check: "version", outcome: "warning", says: `this is 3.0.0, the proxy is ${own}` }));
    const refusals = (await auditEvents(cluster, "instance.join")).filter(({ success }) => success === false);
    expect(refusals).toContainEqual(expect.objectContaining({ server_name: "new-1", error: why }));
  });

  test("one that has joined stays in reach: it, tctl status and the inventory warn", async () => {
    await runAs(newer.platform);
    expect(web.service.printed()).toContain(`this agent is 3.0.0, newer by a major than the cluster (${own}): newer features may not work`);
    expect(cluster.control.printed()).toContain("incompatible agent version");
    expect(await warnings()).toEqual([
      `the cluster is ${own}; web-1 (3.0.0): newer by a major than the cluster, so newer features may not work: upgrade the cluster first`,
    ]);
    expect(await cluster.admin("inventory", "status")).toMatch(/web-1 .*3\.0\.0 .*newer by a major than the cluster/);
  });

  test("a tsh that is newer by a major logs in, and is warned", async () => {
    const args = ["login", `--proxy=${cluster.proxy}`, "--user=alice", `--ca-pin=${await cluster.pin()}`];
    const input = `${alice.password}\n${await alice.code()}\n`;
    const done = await run(newer.tsh, args, { env: { TSH_HOME: alice.home }, input });
    expect([done.status, done.stderr]).toEqual([0, expect.stringContaining(`this tsh is 3.0.0, newer by a major than the cluster (${own})`)]);
  });

  test("a cluster that has gone two majors ahead: hosts that have joined are warned of and served, others and old clients are refused", async () => {
    await become(newer.platform);
    await cluster.restart();
    await runAs();
    const old = `${own}, too old for the cluster (3.0.0), which works with majors 2 and 3`;
    expect(web.service.printed()).toContain(`this agent is ${old}: newer features may not work`);
    expect(await refusedJoin("old-1")).toContain(`this host is ${old}`);
    expect((await doctor("old-1")).stops_at).toBe("version");
    const login = ["login", `--proxy=${cluster.proxy}`, "--user=alice", `--ca-pin=${await cluster.pin()}`];
    const refused = await alice.tsh(login);
    expect([refused.status, refused.stderr]).toEqual([11, expect.stringContaining(`this tsh is ${old}`)]);
    expect(refused.stderr).toContain("--skip-version-check");
    // The password is wrong, which only a login that was tried learns.
    const tried = await alice.tsh([...login, "--skip-version-check"], { input: "wrong\n000000\n" });
    expect([tried.status, tried.stderr]).toEqual([3, expect.stringContaining(`this tsh is ${old}: newer features may not work`)]);
    expect(await alice.tsh(["ssh", `${userInfo().username}@web-1`, "echo served"])).toMatchObject({ status: 0, stdout: "served\n" });
    expect(await cluster.admin("inventory", "status")).toMatch(/web-1 .*too old for the cluster \(3\.0\.0\)/);
  });
});

describe("two proxies", () => {
  let cluster: Cluster;
  let second: Service | undefined;
  beforeAll(async () => {
    cluster = await startCluster({ split: true, proxyService: "  automatic_upgrades_channels:\n    default: { static_version: v0.9.0 }\n" });
  });
  afterAll(async () => {
    await second?.stop();
    await cluster?.[Symbol.asyncDispose]();
  });

  const startSecond = async (version: string): Promise<Service> => {
    const [web, ssh, tunnel] = (await freePorts(3)) as [number, number, number];
    const dir = join(cluster.dir, "second");
    await mkdir(dir, { recursive: true });
    const more = `  automatic_upgrades_channels:\n    default: { static_version: ${version} }\n`;
    const ports = { web, auth: cluster.ports.auth, ssh, tunnel };
    const facts = { dir, address: "127.0.0.1", name: "127.0.0.1", ports, mode: "multiplex", more };
    const file = join(dir, "proxy.yaml");
    await writeFile(file, proxyConfig(facts, { token: await cluster.token("--type=proxy"), pin: await cluster.pin() }), { mode: 0o600 });
    const service = startService(program("platform"), ["start", "--config", file, "--pid-file", join(dir, "proxy.pid")]);
    await until("the second proxy answers", async () => {
      if (service.exited) throw new Error(service.printed());
      return (await get(`127.0.0.1:${web}`, `${base}/default/version`)).text === version;
    });
    return service;
  };

  test("that disagree about channels are named in tctl status and in the log, until they agree", async () => {
    const warnings = async (): Promise<string[]> => (JSON.parse(await cluster.admin("status", "--format=json")) as { warnings: string[] }).warnings;
    expect(await warnings()).toEqual([]);
    second = await startSecond("v0.9.1");
    const [warning] = await until("the auth service warns", async () => {
      const all = await warnings();
      return all.length > 0 && all;
    });
    expect(warning).toMatch(/^proxies have different automatic_upgrades_channels.*127\.0\.0\.1:\d+ \| 127\.0\.0\.1:\d+$/);
    expect(warning).toContain(cluster.proxy);
    expect(await cluster.admin("status")).toMatch(/^Warning: +proxies have different automatic_upgrades_channels/m);
    expect(cluster.control.printed()).toMatch(/WARN +"?proxies have different automatic_upgrades_channels/);
    await second.stop();
    second = await startSecond("v0.9.0");
    await until("the auth service warns no more", async () => (await warnings()).length === 0);
  });
});

/** Private memory of a process, KiB. */
async function anonymous(pid: number): Promise<number> {
  return Number(/^RssAnon:\s+(\d+) kB/m.exec(await readFile(`/proc/${pid}/status`, "utf8"))?.[1]);
}

describe("a proxy with packages", () => {
  test("serves a fleet that downloads at once, in bounded memory, and the install script", async () => {
    const size = 40_000_000;
    const content = randomBytes(size);
    const folder = await mkdtemp(join(tmpdir(), "platform-packages-"));
    try {
      await writeFile(join(folder, "a.deb"), content);
      await using cluster = await startCluster({ proxyService: `  packages_dir: ${folder}\n` });
      const before = await anonymous(cluster.control.pid);
      const sum = createHash("sha256").update(content).digest("hex");
      const seen: number[] = [];
      const watching = setInterval(() => void anonymous(cluster.control.pid).then((kib) => seen.push(kib)), 50);
      const fetch = `curl -sk --http1.1 https://${cluster.proxy}/packages/a.deb | sha256sum`;
      const sums = await Promise.all(Array.from({ length: 16 }, () => run("sh", ["-c", fetch])));
      clearInterval(watching);
      expect(new Set(sums.map(({ stdout }) => stdout.slice(0, 64)))).toEqual(new Set([sum]));
      // Held whole, they would take 640 MB.
      expect(Math.max(...seen) - before).toBeLessThan(250_000);
      const resumed = await run("sh", ["-c", `curl -sk --http1.1 -r ${size - 10}- https://${cluster.proxy}/packages/a.deb | sha256sum`]);
      expect(resumed.stdout.slice(0, 64)).toBe(createHash("sha256").update(content.subarray(-10)).digest("hex"));
      const script = await get(cluster.proxy, "/scripts/install.sh");
      expect(script.status).toBe(200);
      expect(script.text).toContain(`\nPLATFORM_PROXY='${cluster.proxy}'\n`);
      expect((await run("sh", ["-n"], { input: script.text })).status).toBe(0);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
