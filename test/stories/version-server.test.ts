import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cluster, startCluster } from "../world/cluster.ts";
import { proxyConfig } from "../world/cluster-config.ts";
import { freePorts } from "../world/free-port.ts";
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

  test("serves the proxy's own version without configuration", async () => {
    await using cluster = await startCluster();
    const own = (await run(program("platform"), ["version"])).stdout;
    const { text } = await get(cluster.proxy, `${base}/default/version`);
    expect(text).toMatch(/^v\d+\.\d+\.\d+/);
    expect(own).toContain(text.slice(1));
    expect((await get(cluster.proxy, `${base}/stable/cloud/version`)).text).toBe(text);
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
