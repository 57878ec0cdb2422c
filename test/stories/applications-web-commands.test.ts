import { createHash, randomBytes } from "node:crypto";
import { chmod, writeFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { WebUpstream } from "../../agent/app/testing/web-upstream.ts";
import { openAppBrowser } from "../world/app-browser.ts";
import { type AppLogin, ask, logInToApp, type Visitor } from "../world/app-client.ts";
import { type AuditEvent, audited } from "../world/audited.ts";
import { type Cluster, startCluster } from "../world/cluster.ts";
import type { Agent } from "../world/cluster-agent.ts";
import type { User } from "../world/cluster-user.ts";
import { type GrpcClient, grpcAs, grpcAtPort, startGrpcServer } from "../world/grpc-peers.ts";
import { openProxyNetwork, type ProxyNetwork } from "../world/http-proxy/open-proxy-network.ts";
import { type Squid, startSquid } from "../world/http-proxy/start-squid.ts";
import { because } from "../world/not-here.ts";
import { noPostgres, type PostgresServer, startPostgres } from "../world/postgres-server.ts";
import { program, run } from "../world/program.ts";
import { putRole } from "../world/put-role.ts";
import { type Service, startService } from "../world/service.ts";
import { until } from "../world/until.ts";

const isRoot = process.getuid?.() === 0;

/** Two agents offer everything; as root one of them reaches the cluster through an HTTP proxy, as does tsh. */
describe("web applications from the command line", () => {
  let network: ProxyNetwork | undefined;
  let squid: Squid | undefined;
  let cluster: Cluster;
  let upstream: WebUpstream;
  let grpc: Awaited<ReturnType<typeof startGrpcServer>>;
  /** Takes its superuser from this machine without a password; undefined: not installed, or not root. */
  let postgres: PostgresServer | undefined;
  let agents: readonly [Agent, Agent];
  let alice: User;
  let site: Pick<Visitor, "address" | "port">;
  let wiki: AppLogin;
  let serve: (request: IncomingMessage, response: ServerResponse) => void;

  beforeAll(async () => {
    upstream = await WebUpstream.open((request, response) => serve(request, response));
    grpc = await startGrpcServer();
    network = isRoot ? await openProxyNetwork() : undefined;
    squid = network && (await startSquid({ address: network.there, netns: network.netns }));
    const address = network?.here ?? "127.0.0.1";
    cluster = await startCluster({ address, proxyService: "  apps_domain: apps.test\n" });
    site = { address, port: cluster.ports.web };
    await putRole(cluster, "apps", { allow: { app_labels: { "*": "*" } } });
    postgres = noPostgres === undefined ? await trustingPostgres() : undefined;
    const services = `app_service:
  enabled: yes
  apps:
    - { name: orders, uri: "tcp://127.0.0.1:${postgres?.port ?? 1}" }
    - { name: wiki, uri: "${upstream.uri}" }
    - { name: grpc, uri: "http://127.0.0.1:${grpc.port}" }
`;
    const options = { token: await cluster.token("--type=app"), services, noWait: true };
    agents = await Promise.all([
      cluster.agent({ ...options, name: "apps-1" }),
      cluster.agent({ ...options, name: "apps-2", env: squid === undefined ? {} : { HTTPS_PROXY: squid.httpUrl } }),
    ]);
    alice = await cluster.user("alice", { roles: "apps,auditor" });
    await offered();
    wiki = await logInToApp(alice, "wiki", site);
  });
  afterAll(async () => {
    await postgres?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
    await squid?.[Symbol.asyncDispose]();
    await network?.[Symbol.asyncDispose]();
    await upstream?.[Symbol.asyncDispose]();
    await grpc?.[Symbol.asyncDispose]();
  });
  beforeEach(() => {
    serve = (_request, response) => void response.end("hello");
    upstream.seen.splice(0);
  });

  async function offered(): Promise<void> {
    await until("both agents offer them", async () => {
      const apps = JSON.parse((await alice.tsh(["apps", "ls", "--format=json"])).stdout) as { hosts: string[] }[];
      return apps.length === 3 && apps.every(({ hosts }) => hosts.length === agents.length);
    });
  }

  async function trustingPostgres(): Promise<PostgresServer> {
    const [signed, folder] = [join(cluster.dir, "orders"), join(cluster.dir, "postgres")];
    // The server runs as a user of its own.
    await chmod(cluster.dir, 0o755);
    await cluster.admin("auth", "sign", "--format=db", "--host=localhost", "--ttl=1h", `--out=${signed}`);
    const server = await startPostgres({ signed, folder });
    await writeFile(join(folder, "data/pg_hba.conf"), "local all postgres peer\nhostssl all all 127.0.0.1/32 trust\n");
    await server.reload();
    return server;
  }

  /** `tsh proxy app`, with the port that it prints. */
  async function proxyApp(name: string): Promise<{ readonly port: number } & AsyncDisposable> {
    const proxied = squid === undefined ? {} : { HTTPS_PROXY: squid.httpUrl };
    const service: Service = startService(program("tsh"), ["proxy", "app", name], { env: { TSH_HOME: alice.home, ...proxied } });
    const port = await until("it listens", () => {
      if (service.exited) throw new Error(service.printed());
      return Number(/127\.0\.0\.1:(\d+)/.exec(service.printed())?.[1]) || undefined;
    });
    return { port, [Symbol.asyncDispose]: () => service.stop() };
  }

  test("the line that `tsh apps login` prints is a command that works", async () => {
    const done = await alice.tsh(["apps", "login", "wiki"]);
    const line = done.stdout.split("\n").find((text) => text.trim().startsWith("curl "));
    expect(line?.trim()).toBe(wiki.curl);
    await writeFile(join(cluster.dir, ".curlrc"), `silent\nresolve = "wiki.apps.test:${site.port}:${site.address}"\n`);
    const curl = await run("sh", ["-c", line ?? ""], { env: { CURL_HOME: cluster.dir } });
    expect([curl.status, curl.stdout], curl.stderr).toEqual([0, "hello"]);
    expect((await alice.tsh(["apps", "logout", "wiki"])).status).toBe(0);
    expect((await run("sh", ["-c", line ?? ""], { env: { CURL_HOME: cluster.dir } })).status).not.toBe(0);
    wiki = await logInToApp(alice, "wiki", site);
  });

  test("`tsh proxy app` serves HTTP and gRPC on a local port, and an HTTP proxy may be in between", async () => {
    await using web = await proxyApp("wiki");
    const curl = await run("curl", ["-sS", `http://127.0.0.1:${web.port}/`]);
    expect([curl.status, curl.stdout], curl.stderr).toEqual([0, "hello"]);
    // As a page of another site would, whose name resolves to 127.0.0.1.
    const foreign = await run("curl", [
      "-sS",
      "--resolve",
      `attacker.example:${web.port}:127.0.0.1`,
      "-w%{http_code}",
      `http://attacker.example:${web.port}/`,
    ]);
    expect(foreign.stdout, foreign.stderr).toMatch(/^this port of tsh serves .*\n421$/s);
    await using rpc = await proxyApp("grpc");
    using client = grpcAtPort(rpc.port);
    await speak(client);
    if (squid !== undefined) expect((await squid.accessLog()).match(/CONNECT/g)?.length).toBeGreaterThan(1);
  });

  test.skipIf(noPostgres !== undefined)(
    `psql, with TLS of its own, works through \`tsh proxy app\` of a TCP application${because(noPostgres)}`,
    async () => {
      await using proxied = await proxyApp("orders");
      const address = `host=127.0.0.1 port=${proxied.port} user=postgres dbname=postgres sslmode=require`;
      const done = await run("psql", [
        "-XAt",
        address,
        "-c",
        "select ssl from pg_stat_ssl where pid = pg_backend_pid()",
        "-c",
        "select md5(string_agg(i::text, ',')) from generate_series(1, 500000) i",
      ]);
      const whole = createHash("md5")
        .update(Array.from({ length: 500_000 }, (_, at) => at + 1).join(","))
        .digest("hex");
      expect([done.status, done.stdout], done.stderr).toEqual([0, `t\n${whole}\n`]);
      const copied = await run("psql", ["-XAt", address, "-c", "copy (select i from generate_series(1, 200000) i) to stdout"]);
      expect(copied.stdout.split("\n").length).toBe(200_001);
      expect(await audited(cluster, "app.session.start", { user: "alice", app_name: "orders" })).toMatchObject({ code: "T2007I" });
    },
  );

  /** Calls of each kind: messages, trailers and states arrive as they were sent. */
  async function speak(client: GrpcClient): Promise<void> {
    const well = { code: 0, user: "named" };
    for (const bytes of [Buffer.from("request"), randomBytes(1_000_000), Buffer.alloc(0)]) {
      expect(await client.say(bytes)).toMatchObject({ ...well, answer: bytes });
    }
    const words = ["one", "two", "three"];
    expect(await client.words(words.join(" "))).toMatchObject({ ...well, words });
    expect(await client.echo(words)).toMatchObject({ ...well, words });
    expect(await client.refuse()).toMatchObject({ ...well, code: 9, details: "not now: 100 % full", reason: [0, 255] });
  }

  test("gRPC with a certificate, by a client of its own library: a call, streams, trailers and a state that is an error", async () => {
    const { visitor } = await logInToApp(alice, "grpc", site);
    using client = grpcAs(visitor);
    await speak(client);
  });

  test("sessions are in the audit log, and their requests in a recording, without the secrets of a query", async () => {
    const path = "/found?q=cpu&token=geheim";
    expect((await ask(wiki.visitor, { method: "PUT", path })).status).toBe(200);
    const own = (event: AuditEvent): boolean => event.user === "alice" && event.app_name === "wiki";
    const start = await audited(cluster, "app.session.start", own);
    expect(start).toMatchObject({ code: "T2007I", app_uri: upstream.uri, server_name: expect.stringMatching(/^apps-[12]$/) });
    // A session lasts a minute longer than its last connection, and not longer than its agent.
    await Promise.all(agents.map(({ service }) => service.stop()));
    for (const agent of agents) agent.start();
    await audited(cluster, "app.session.end", (event) => own(event) && event.code === "T2011I" && event.sid === start.sid);
    const lines = (await cluster.admin("audit", "ls", "--format=json", "--event=app.session.chunk")).split("\n").filter(Boolean);
    const chunks = lines.map((line) => JSON.parse(line) as AuditEvent).filter(own);
    const played = await until("the recording of the request", async () => {
      const all = await Promise.all(chunks.map(async ({ session_chunk_id: id }) => (await alice.tsh(["play", String(id)])).stdout));
      return all.find((text) => text.includes("/found"));
    });
    expect(played).toMatch(/PUT/);
    expect(played).toContain("q=cpu");
    expect(played + lines.join("\n")).not.toContain("geheim");
    await offered();
  });

  test("when one agent is killed under load, requests succeed again within a second, and no body is sent twice", async () => {
    const person = await cluster.user("carol", { roles: "apps", noLogin: true });
    const browser = await openAppBrowser({ ...wiki.visitor, ...site, host: site.address, certificate: undefined }, person);
    const carol = await browser.open("wiki.apps.test");
    const arrived: string[] = [];
    serve = (request, response) => {
      arrived.push(request.url ?? "");
      request.resume().on("end", () => response.end("done"));
    };
    const done: string[] = [];
    /** When each request that failed began, ms. */
    const failed: number[] = [];
    let [sent, isOver] = [0, false];
    const work = async (): Promise<void> => {
      while (!isOver) {
        sent += 1;
        const path = `/post/${sent}`;
        const began = performance.now();
        const answer = await ask(carol, { method: "POST", path, body: "x".repeat(20_000) }).catch(() => undefined);
        if (answer?.status === 200) done.push(path);
        else failed.push(began);
      }
    };
    const workers = Array.from({ length: 4 }, work);
    await until("the load runs", () => done.length > 20);
    const killed = performance.now();
    await agents[0].service.kill();
    const atKill = done.length;
    await until("a request succeeds again", () => done.length > atKill, 1_000);
    await until("requests succeed again", () => done.length > atKill + 40);
    isOver = true;
    await Promise.all(workers);
    expect(new Set(arrived).size).toBe(arrived.length);
    expect(done.filter((path) => !arrived.includes(path))).toEqual([]);
    // Those that the agent had, and those of the moment until the proxy knows that it is gone.
    expect(failed.length).toBeLessThanOrEqual(workers.length * 5);
    expect(failed.filter((began) => began > killed + 1_000)).toEqual([]);
    expect((await ask(carol)).status).toBe(200);
  });
});
