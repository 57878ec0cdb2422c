import { once } from "node:events";
import { rename, rm, writeFile } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, createServer, type Server } from "node:net";
import { join } from "node:path";
import { createServer as createTlsServer } from "node:tls";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type Cluster, startCluster } from "../world/cluster.ts";
import type { Agent } from "../world/cluster-agent.ts";
import type { User } from "../world/cluster-user.ts";
import { freePorts } from "../world/free-port.ts";
import { type MadeCertificate, makeCertificate } from "../world/http-proxy/make-certificate.ts";
import { openProxyNetwork, type ProxyNetwork } from "../world/http-proxy/open-proxy-network.ts";
import { type Squid, startSquid } from "../world/http-proxy/start-squid.ts";
import { program, run } from "../world/program.ts";

/** The proxies are in a network namespace of their own, which needs root. */
const isRoot = process.getuid?.() === 0;
let network: ProxyNetwork;
let squid: Squid;
let cluster: Cluster;
let web: Agent;
let alice: User;
let certificate: MadeCertificate;
const servers: Server[] = [];

beforeAll(async () => {
  if (!isRoot) return;
  network = await openProxyNetwork();
  squid = await startSquid({ address: network.there, netns: network.netns });
  cluster = await startCluster({ address: network.here });
  web = await cluster.agent({ name: "web-1" });
  alice = await cluster.user("alice");
  certificate = await makeCertificate(cluster.dir, [network.here]);
});

afterAll(async () => {
  for (const server of servers) server.close();
  await cluster?.[Symbol.asyncDispose]();
  await squid?.stop();
  await network?.[Symbol.asyncDispose]();
});

beforeEach(({ skip }) => skip(!isRoot, "needs root, to make a network namespace for the proxies"));

interface Report {
  readonly ok: boolean;
  readonly stops_at: string | null;
  readonly findings: readonly { check: string; outcome: string; says: string; hint?: string }[];
}

type Env = Readonly<Record<string, string>>;

/** What `tsh doctor` of somebody who is not logged in says of the address. */
async function strangersDoctor(address: string, env: Env = {}) {
  const asked = await run(program("tsh"), ["doctor", `--proxy=${address}`, "--format=json"], {
    env: { TSH_HOME: join(cluster.dir, "nobody"), ...env },
  });
  return { status: asked.status, report: JSON.parse(asked.stdout) as Report };
}

async function agentsDoctor(...args: string[]) {
  const asked = await run(program("platform"), ["doctor", "--config", join(web.dir, "platform.yaml"), "--format=json", ...args], {});
  return { status: asked.status, report: JSON.parse(asked.stdout) as Report };
}

async function listening(server: Server): Promise<string> {
  servers.push(server);
  server.listen(0, network.here);
  await once(server, "listening");
  return `${network.here}:${(server.address() as AddressInfo).port}`;
}

/** Join tokens of the cluster. */
async function tokens(): Promise<readonly { name: string }[]> {
  const listed = JSON.parse(await cluster.admin("get", "token", "--format=json")) as { metadata: { name: string } }[];
  return listed.map(({ metadata }) => metadata);
}

const outcomes = ({ findings }: Report): string => findings.map(({ check, outcome }) => `${check} ${outcome}`).join(", ");
const finding = ({ findings }: Report, check: string) => findings.find((one) => one.check === check);
/** ms: a server's clock that is wrong. */
const fiveMinutes = 300_000;

test("after a login everything is looked at, up to the host's agent", async () => {
  const asked = await alice.tsh(["doctor", "root@web-1"]);
  expect(asked.stdout).toMatch(/^ok +route .*directly: neither HTTPS_PROXY nor HTTP_PROXY is set/);
  expect(asked.stdout).toMatch(/^ok +certificate +it is trusted/m);
  expect(asked.stdout).toMatch(/^ok +access +login as alice works, with access to 1 host$/m);
  expect(asked.stdout).toMatch(/^ok +host +the agent of web-1 answers; root may log in there$/m);
  expect(asked.stdout).toMatch(/\nEverything works\.\n$/);
  expect(asked.status).toBe(0);
});

test("behind an HTTP proxy it names the proxy and why, and never the password", async () => {
  const asked = await alice.tsh(["doctor"], { env: { HTTPS_PROXY: squid.httpUrl, NO_PROXY: ".corp" } });
  expect(asked.stdout).toMatch(/^ok +route .* through the proxy [0-9.]+:3128: HTTPS_PROXY is set, and no entry of NO_PROXY matches$/m);
  expect(asked.stdout).toMatch(/^ok +connect +the proxy opens a tunnel to /m);
  expect(asked.status).toBe(0);
  expect(asked.stdout + asked.stderr).not.toMatch(/p@ss|p%40ss|agent:/);
});

test.for<readonly [why: string, env: () => Env, stopsAt: string, status: number, says: RegExp]>([
  ["a wrong password", () => ({ HTTPS_PROXY: squid.httpUrl.replace(/:[^:@/]*@/, ":hunter2@") }), "connect", 3, /407 .*the credentials are wrong/],
  ["no proxy at that port", () => ({ HTTPS_PROXY: `http://${network.there}:9` }), "connection", 9, /connection refused/],
  ["a proxy that is none", () => ({ HTTPS_PROXY: "ftp://proxy" }), "route", 2, /scheme that is not http or https/],
  ["a proxy's name that nobody knows", () => ({ HTTPS_PROXY: "http://proxy.invalid:3128" }), "name", 9, /^proxy\.invalid: the name /],
])("%s: it says where and what to do", async ([, env, stopsAt, status, says]) => {
  const asked = await alice.tsh(["doctor", "--format=json"], { env: env() });
  const report = JSON.parse(asked.stdout) as Report;
  expect(report).toMatchObject({ ok: false, stops_at: stopsAt });
  expect(finding(report, stopsAt)?.says).toMatch(says);
  expect(finding(report, stopsAt)?.hint).toBeTruthy();
  expect(finding(report, "access")?.outcome).toBe("skipped");
  expect(asked.status).toBe(status);
  expect(asked.stdout).not.toContain("hunter2");
});

test("an exception in NO_PROXY is named as it was written", async () => {
  const [closed = 0] = await freePorts(1);
  const { report } = await strangersDoctor(`${network.here}:${closed}`, { HTTPS_PROXY: squid.httpUrl, NO_PROXY: "10.0.0.0/8, 198.51.100.0/24" });
  expect(finding(report, "route")?.says).toContain('directly: NO_PROXY has the entry "198.51.100.0/24"');
  expect(report.stops_at).toBe("connection");
});

test.for<readonly [why: string, server: () => Server, expected: string]>([
  ["a web server without TLS", () => createHttpServer((_request, response) => response.end("hello")), "tls failed"],
  ["a server that hangs up", () => createServer((socket) => socket.destroy()), "tls failed"],
  [
    "somebody else's web server",
    () => createHttpsServer(certificate, (_request, response) => response.end("log in to the network")),
    "answer failed",
  ],
])("%s is not a proxy", async ([, server, expected]) => {
  const { report, status } = await strangersDoctor(await listening(server()));
  expect(outcomes(report)).toContain(expected);
  expect(outcomes(report)).toContain("access skipped");
  expect(status).not.toBe(0);
});

test.for<readonly [why: string, server: () => Server, stopsAt: string, says: RegExp]>([
  [
    "a web proxy that refuses protocols other than its own",
    () => createHttpsServer({ ...certificate, ALPNProtocols: ["h2", "http/1.1"] }),
    "tls",
    /^the peer speaks TLS but refuses our protocol$/,
  ],
  [
    "a load balancer that knows no protocols",
    () => createTlsServer(certificate, (socket) => socket.end()),
    "alpn",
    /^platform-stream does not get through: .* no protocol$/,
  ],
])("%s ends TLS on the way, and is reported", async ([, server, stopsAt, says]) => {
  const address = await listening(server());
  const env = { TSH_HOME: join(cluster.dir, "nobody") };
  const asked = await run(program("tsh"), ["doctor", `--proxy=${address}`, `--ca-pin=${await cluster.pin()}`, "--format=json"], { env });
  const report = JSON.parse(asked.stdout) as Report;
  expect(report.stops_at).toBe(stopsAt);
  expect(finding(report, stopsAt)).toMatchObject({ says: expect.stringMatching(says), hint: expect.stringContaining("terminates TLS") });
  expect(finding(report, "certificate")?.outcome).toBe("skipped");
});

test("a clock that differs from the proxy's by minutes is the failure that it is", async () => {
  const ping = JSON.stringify({ server_version: "1.0.0", min_client_version: "0.0.0", cluster_name: "late" });
  const late = createHttpsServer(certificate, (_request, response) => {
    response.setHeader("date", new Date(Date.now() + fiveMinutes).toUTCString());
    response.end(ping);
  });
  const { report } = await strangersDoctor(await listening(late), { SSL_CERT_FILE: certificate.caFile });
  expect(finding(report, "clock")).toMatchObject({
    outcome: "failed",
    says: expect.stringMatching(/^this machine's clock is 5 min behind the proxy's/),
  });
});

test("the agent's own doctor goes the service's way, and takes the proxy from its environment file", async () => {
  const file = join(web.dir, "environment");
  await writeFile(file, `HTTPS_PROXY=${squid.httpUrl}\n`, { mode: 0o600 });
  const through = await agentsDoctor("--environment-file", file);
  expect(through.report).toMatchObject({ ok: true, stops_at: null });
  expect(outcomes(through.report)).toMatch(
    /^configuration ok, identity ok, environment ok, route ok, .*connect ok, .*tunnel ok, access ok, proxies ok, web ok$/,
  );
  expect(JSON.stringify(through.report)).not.toMatch(/p@ss|p%40ss/);
  const direct = await agentsDoctor("--environment-file", join(web.dir, "none"));
  expect([direct.status, finding(direct.report, "connect")]).toEqual([0, undefined]);
});

test("the agent's doctor tells a host that never joined, one that was removed, and a cluster that is down", async () => {
  const folder = join(web.dir, "data", "agent");
  await rename(folder, `${folder}.away`);
  const fresh = (await agentsDoctor()).report;
  expect([fresh.ok, finding(fresh, "tunnel")?.says]).toEqual([true, "this host has not joined yet"]);
  expect(finding(fresh, "token")).toMatchObject({
    outcome: "ok",
    says: expect.stringMatching(/takes the join token for web-1: it is valid until 20/),
  });
  for (const { name } of await tokens()) await cluster.admin("rm", `token/${name}`);
  const unknown = await agentsDoctor();
  expect(unknown).toMatchObject({ status: 4, report: { stops_at: "token" } });
  expect(finding(unknown.report, "token")).toMatchObject({ says: "unknown join token", hint: "make one with: tctl tokens add" });
  await writeFile(
    join(web.dir, "platform.yaml"),
    `version: v3\nplatform:\n  data_dir: ${join(web.dir, "data")}\n  proxy_server: ${cluster.proxy}\nssh_service: {}\n`,
  );
  const never = await agentsDoctor();
  expect(never).toMatchObject({ status: 3, report: { stops_at: "identity" } });
  expect(finding(never.report, "identity")?.hint).toContain("tctl tokens add");
  await rm(folder, { recursive: true, force: true });
  await rename(`${folder}.away`, folder);
  const [node] = JSON.parse(await cluster.admin("get", "node", "--format=json")) as { metadata: { name: string } }[];
  await cluster.admin("nodes", "rm", node?.metadata.name ?? "");
  const removed = await agentsDoctor();
  expect(removed.report).toMatchObject({ stops_at: "access" });
  expect(outcomes(removed.report)).toContain("tunnel ok, access failed");
  await cluster.control.stop();
  expect(await agentsDoctor()).toMatchObject({ status: 9, report: { stops_at: "connection" } });
});
