import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auditEvents, audited } from "../world/audited.ts";
import { type Cluster, startCluster } from "../world/cluster.ts";
import type { Agent } from "../world/cluster-agent.ts";
import type { User } from "../world/cluster-user.ts";
import { echoed } from "../world/echo.ts";
import { startEndingNginx } from "../world/ending-nginx.ts";
import { hasProgram } from "../world/has-program.ts";
import { openProxyNetwork, type ProxyNetwork } from "../world/http-proxy/open-proxy-network.ts";
import { startSquid } from "../world/http-proxy/start-squid.ts";
import { program, run } from "../world/program.ts";
import { putRole } from "../world/put-role.ts";
import { startService } from "../world/service.ts";
import { appTunnel } from "../world/tsh-tunnel.ts";
import { until } from "../world/until.ts";

const isRoot = process.getuid?.() === 0;
const hasNginx = hasProgram("nginx");
const nginxReason = hasNginx ? "" : " (skipped: nginx is not installed)";
/** After this long nginx cuts a connection without a byte; pings come every 25 s. */
const idleSeconds = 28;

/** An application that says which one it is, and then what it hears. */
async function startApp(name: string): Promise<{ readonly port: number; readonly server: Server }> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => {}).write(`${name}:`);
    socket.pipe(socket);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return { port: (server.address() as AddressInfo).port, server };
}

describe("raw TCP applications", () => {
  let cluster: Cluster;
  let first: Agent;
  let second: Agent;
  let alice: User;
  let bob: User;
  let network: ProxyNetwork | undefined;
  const apps: Server[] = [];

  const section = (list: readonly (readonly [name: string, port: number, labels: string])[], more = ""): string =>
    `app_service:\n  enabled: yes\n  apps:\n${list.map(([name, port, labels]) => `    - { name: ${name}, uri: "tcp://127.0.0.1:${port}", labels: { ${labels} } }\n`).join("")}${more}`;

  beforeAll(async () => {
    network = isRoot ? await openProxyNetwork() : undefined;
    cluster = await startCluster(network && { address: network.here });
    const [one, two, secret] = [await startApp("orders-1"), await startApp("orders-2"), await startApp("payroll")];
    apps.push(one.server, two.server, secret.server);
    const pair = [one.port, secret.port].map((port) => `{ port: ${port} }`).join(", ");
    await putRole(cluster, "orders", { options: { max_session_ttl: "8h" }, allow: { app_labels: { env: "test" } } });
    const token = await cluster.token("--type=app");
    first = await cluster.agent({
      name: "apps-1",
      token,
      services: section([
        ["orders", one.port, "env: test"],
        ["payroll", secret.port, "env: prod"],
      ]).concat(`    - { name: pair, uri: "tcp://127.0.0.1", tcp_ports: [${pair}], labels: { env: test } }\n`),
      noWait: true,
    });
    second = await cluster.agent({ name: "apps-2", token, services: section([["orders", two.port, "env: test"]]), noWait: true });
    [alice, bob] = await Promise.all([cluster.user("alice", { roles: "orders" }), cluster.user("bob")]);
    await until("both agents offer it", async () => (await listed(alice))[0]?.hosts.length === 2);
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    await network?.[Symbol.asyncDispose]();
    for (const server of apps) server.close();
  });

  interface Listed {
    readonly name: string;
    readonly hosts: readonly string[];
    readonly ports: string;
  }
  async function listed(user: User): Promise<readonly Listed[]> {
    return JSON.parse((await user.tsh(["apps", "ls", "--format=json"])).stdout) as Listed[];
  }

  /** What comes back; empty when the connection is refused, which resets it. */
  async function answered(port: number, text: string): Promise<string> {
    return await echoed({ port }, text).catch(() => "");
  }

  test("an agent without ssh_service is an application's agent, and no host to log in to", async () => {
    expect((await listed(alice)).map(({ name }) => name)).toEqual(["orders", "pair"]);
    expect((await cluster.admin("get", "node", "--format=names")).split("\n").filter(Boolean)).toHaveLength(2);
    expect((await bob.tsh(["ssh", "root@apps-1", "true"])).stderr).toMatch(/does not serve ssh/);
  });

  test("bytes go both ways, each end by itself, through whichever agent offers it; both ends are in the audit log", async () => {
    await using proxied = await appTunnel(alice, "orders");
    const seen = new Set<string>();
    for (let round = 0; round < 20 && seen.size < 2; round += 1) seen.add((await echoed({ port: proxied.port }, "hello")).replace(":hello", ""));
    expect([...seen].sort()).toEqual(["orders-1", "orders-2"]);
    const text = "x".repeat(3_000_000);
    expect((await echoed({ port: proxied.port }, text)).slice(9)).toBe(text);
    const start = await audited(cluster, "app.session.start", { user: "alice", app_name: "orders" });
    await audited(cluster, "app.session.end", (event) => event.user === "alice" && event.bytes_received === text.length);
    expect(start).toMatchObject({ server_name: expect.stringMatching(/^apps-[12]$/), code: "T2007I" });
  });

  test("of an application with several ports, each is reached by its number, and another is refused in words and audited", async () => {
    const ports = (await listed(alice)).find(({ name }) => name === "pair")?.ports ?? "";
    const [one = "", other = ""] = ports.split(", ");
    await using first = await appTunnel(alice, "pair", [`--port=0:${one}`]);
    await using second = await appTunnel(alice, "pair", [`--port=0:${other}`]);
    expect(await echoed({ port: first.port }, "a")).toBe("orders-1:a");
    expect(await echoed({ port: second.port }, "b")).toBe("payroll:b");
    await audited(cluster, "app.session.start", { user: "alice", app_name: "pair", app_target_port: Number(other) });
    await audited(cluster, "app.session.end", (event) => event.app_name === "pair" && event.app_target_port === Number(one));
    const refused = await alice.tsh(["proxy", "app", "pair", "--port=0:22"]);
    expect(refused.status).not.toBe(0);
    expect(refused.stderr).toContain(`access denied: application pair has no port 22; its ports are ${ports}`);
    await audited(cluster, "auth", (event) => event.app_name === "pair" && /no port 22;/.test(String(event.error)));
  });

  test("a machine's certificate for one application opens this one and nothing else", async () => {
    const file = join(cluster.dir, "orders.id");
    await cluster.admin("auth", "sign", "--user=alice", "--only=app/orders", `--out=${file}`);
    const home = join(cluster.dir, "nobody");
    const identity = ["-i", file, `--proxy=${cluster.proxy}`];
    await using proxied = await appTunnel({ home }, "orders", identity);
    expect(await echoed({ port: proxied.port }, "m")).toMatch(/^orders-[12]:m$/);
    await using other = await appTunnel({ home }, "payroll", identity);
    expect(await answered(other.port, "m")).toBe("");
    expect(other.said()).toMatch(/certificate of alice is only for app "orders"/);
    const machine = (...args: readonly string[]) => run(program("tsh"), [...identity, ...args], { env: { TSH_HOME: home }, limitMs: 30_000 });
    expect((await machine("ssh", "root@apps-1", "true")).stderr).toMatch(/only for app "orders"/);
    expect((await machine("apps", "ls")).stderr).toMatch(/only for app "orders"/);
  });

  test.skipIf(!isRoot)("an app resource is offered by the agents that match its labels, behind an HTTP proxy too, until it is removed", async () => {
    if (network === undefined) throw new Error("needs a network");
    await using squid = await startSquid({ address: network.there, netns: network.netns });
    const services = "app_service:\n  enabled: yes\n  resources:\n    - labels: { team: stock }\n";
    const env = { HTTPS_PROXY: squid.httpUrl };
    const behind = await cluster.agent({ name: "apps-3", token: await cluster.token("--type=app"), services, env, noWait: true });
    const stock = await startApp("stock");
    apps.push(stock.server);
    const file = join(cluster.dir, "stock.yaml");
    const labels = "{ env: test, team: stock }";
    await writeFile(file, `kind: app\nversion: v3\nmetadata: { name: stock, labels: ${labels} }\nspec: { uri: tcp://127.0.0.1:${stock.port} }\n`);
    await cluster.admin("create", "-f", file);
    const isListed = async (): Promise<boolean> => (await listed(alice)).some(({ name }) => name === "stock");
    await until("it is offered", isListed);
    await using proxied = await appTunnel(alice, "stock");
    expect(await echoed({ port: proxied.port }, "s")).toBe("stock:s");
    expect(await squid.accessLog()).toMatch(/CONNECT/);
    await cluster.admin("rm", "app/stock");
    await until("nobody offers it", async () => !(await isListed()));
    expect(await answered(proxied.port, "s")).toBe("");
    await behind.service.stop();
  });

  test.skipIf(!hasNginx)(`behind nginx that ends TLS, an agent joins and serves, and tsh works${nginxReason}`, async () => {
    await using nginx = await startEndingNginx({ proxy: cluster.proxy, idleSeconds });
    const env = { SSL_CERT_FILE: nginx.caFile };
    const inside = await startApp("inside");
    apps.push(inside.server);
    await cluster.agent({
      name: "inside-1",
      ...{ proxy: nginx.address, token: await cluster.token("--type=node,app"), env: { ...env, PLATFORM_TUNNEL_PUBLIC_ADDR: nginx.address } },
      services: `ssh_service:\n  enabled: yes\n${section([["inside", inside.port, "env: test"]])}`,
    });
    const carol = await cluster.user("carol", { roles: "access,orders", noLogin: true });
    const login = ["login", `--proxy=${nginx.address}`, "--user=carol", `--ca-pin=${await cluster.pin()}`];
    // Without trust in nginx nobody is asked for a password.
    expect((await carol.tsh(login)).stderr).toMatch(/a load balancer or another device ends TLS there/);
    const tsh = (...args: string[]) => carol.tsh(args, { env });
    expect(await carol.tsh(login, { env, input: `${carol.password}\n${await carol.code()}\n` })).toMatchObject({ status: 0 });
    expect((await tsh("ssh", "root@inside-1", "echo $((6 * 7))")).stdout).toBe("42\n");
    await using idle = startService(program("tsh"), ["ssh", "root@inside-1", "echo begun; cat"], { env: { TSH_HOME: carol.home, ...env } });
    await until("it runs", () => idle.printed().includes("begun"));
    const idleSince = Date.now();
    await using proxied = await appTunnel(carol, "inside", [], env);
    const text = "x".repeat(3_000_000);
    expect(await echoed({ port: proxied.port }, text)).toBe(`inside:${text}`);
    const doctor = await tsh("doctor", "root@inside-1");
    expect(doctor).toMatchObject({ status: 0, stdout: expect.stringMatching(/ok +alpn .* ends TLS before the proxy, and passes WebSockets on/) });
    expect(await nginx.upgrades()).toBeGreaterThan(3);
    const start = await audited(cluster, "session.start", { user: "carol" });
    expect(String(start["addr.remote"]).split(":")[0]).toBe(cluster.proxy.split(":")[0]);
    await until("it has been idle for longer than nginx waits", () => Date.now() - idleSince > (idleSeconds + 3) * 1000, (idleSeconds + 10) * 1000);
    idle.type("still there\n");
    await until("it answers", () => idle.printed().includes("still there"));
  });

  test("an application that no role allows is refused by name, never listed, and audited", async () => {
    expect(await listed(bob)).toEqual([]);
    const refused = await alice.tsh(["proxy", "app", "payroll"]);
    expect(refused.status).not.toBe(0);
    expect(refused.stderr).toMatch(/application "payroll" does not exist, or your roles do not allow it/);
    expect((await auditEvents(cluster, "app.session.start")).filter(({ app_name: name }) => name === "payroll")).toEqual([]);
  });

  test("a removed role affects the next connection, and its user gets the reason", async () => {
    await using proxied = await appTunnel(alice, "orders");
    expect(await echoed({ port: proxied.port }, "a")).toMatch(/:a$/);
    await putRole(cluster, "orders", { allow: { app_labels: { env: "prod" } } });
    await until("it is refused", async () => (await answered(proxied.port, "b")) === "");
    expect(proxied.said()).toMatch(/access denied: alice may not reach orders/);
    await audited(cluster, "auth", { user: "alice", app_name: "orders" });
    await putRole(cluster, "orders", { allow: { app_labels: { env: "test" } } });
    await until("it is allowed again", async () => (await answered(proxied.port, "c")).endsWith(":c"));
  });

  test("an idle connection is ended by its role, and a lock ends one at once", async () => {
    await putRole(cluster, "orders", { options: { client_idle_timeout: "1s" }, allow: { app_labels: { env: "test" } } });
    await using proxied = await appTunnel(alice, "orders");
    const { connect } = await import("node:net");
    const open = async (): Promise<Socket> => {
      const socket = connect({ port: proxied.port, host: "127.0.0.1" }).on("error", () => {});
      await once(socket, "data");
      return socket;
    };
    await until("a connection ends by itself", async () => {
      const socket = await open();
      await once(socket, "close");
      return (await auditEvents(cluster, "app.session.end")).some(({ reason }) => /no activity/.test(String(reason)));
    });
    await putRole(cluster, "orders", { allow: { app_labels: { env: "test" } } });
    const socket = await until("a connection that stays", open);
    const closed = once(socket, "close");
    await cluster.admin("lock", "--user=alice", "--message=gone");
    await closed;
    await audited(cluster, "app.session.end", (event) => /locked/.test(String(event.reason)));
    expect(await answered(proxied.port, "x")).toBe("");
    for (const name of (await cluster.admin("get", "lock", "--format=names")).split("\n").filter(Boolean)) await cluster.admin("rm", `lock/${name}`);
  });

  test("when one agent is gone the other serves", async () => {
    await first.service.kill();
    await using proxied = await appTunnel(alice, "orders");
    for (let round = 0; round < 5; round += 1) expect(await echoed({ port: proxied.port }, "y")).toBe("orders-2:y");
    await second.service.stop();
    await until("nobody offers it", async () => (await listed(alice)).length === 0);
    expect(await answered(proxied.port, "z")).toBe("");
    expect(proxied.said()).toMatch(/no connected agent offers application "orders"/);
  });
});
