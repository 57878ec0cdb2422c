import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auditEvents, audited } from "../world/audited.ts";
import type { Agent } from "../world/cluster-agent.ts";
import { openProxyNetwork, type ProxyNetwork } from "../world/http-proxy/open-proxy-network.ts";
import { type Squid, startSquid } from "../world/http-proxy/start-squid.ts";
import { because } from "../world/not-here.ts";
import { noPostgres } from "../world/postgres-server.ts";
import { entry, openPostgresWorld, type PostgresWorld, psql } from "../world/postgres-world.ts";
import { output } from "../world/program.ts";
import { putRole } from "../world/put-role.ts";
import { rounds } from "../world/rounds.ts";
import { databaseTunnel } from "../world/tsh-tunnel.ts";
import { tshInTerminal, typeCode } from "../world/typed-code.ts";
import { until } from "../world/until.ts";

interface Listed {
  readonly name: string;
  readonly health: string;
  readonly agents: readonly { readonly hostname: string; readonly health: string; readonly error?: string }[];
}

/** Nothing comes in; what goes to the database's port is dropped once the chain `cut` says so. */
const firewall = `table inet fw {
  chain in {
    type filter hook input priority 0; policy drop;
    iif lo accept
    ct state established,related accept
  }
  chain cut {
    type filter hook output priority 0; policy accept;
  }
}
`;

/** The agent db-1 is in a network of its own, behind an HTTP proxy and without any inbound port; db-2 is beside control. */
describe.skipIf(noPostgres !== undefined)(`two agents for one database${because(noPostgres)}`, () => {
  let network: ProxyNetwork;
  let squid: Squid;
  let world: PostgresWorld;
  let second: Agent;

  beforeAll(async () => {
    network = await openProxyNetwork();
    await output("nft", ["-f", "-"], { netns: network.netns, input: firewall });
    squid = await startSquid({ address: network.there, netns: network.netns });
    world = await openPostgresWorld({
      cluster: { address: network.here },
      address: network.here,
      agent: { netns: network.netns, env: { HTTPS_PROXY: squid.httpUrl } },
    });
    const services = `db_service:\n  enabled: yes\n  databases:\n${entry("orders", "postgres", `${network.here}:${world.server.port}`)}`;
    second = await world.cluster.agent({ name: "db-2", token: await world.cluster.token("--type=db"), services, noWait: true });
    await until("both agents see it healthy", async () => (await healthOf()).join() === "db-1 healthy,db-2 healthy");
  });
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
    await squid?.stop();
    await network?.[Symbol.asyncDispose]();
  });

  async function healthOf(): Promise<readonly string[]> {
    const [orders] = JSON.parse((await world.alice.tsh(["db", "ls", "--format=json"])).stdout) as Listed[];
    return (orders?.agents ?? []).map(({ hostname, health }) => `${hostname} ${health}`).sort();
  }

  /** Hosts of the sessions that have begun, the oldest first. */
  async function used(): Promise<readonly unknown[]> {
    return (await auditEvents(world.cluster, "db.session.start")).filter(({ success }) => success === true).map(({ server_name: name }) => name);
  }

  /** A query by a `tsh` of its own, which chooses an agent for itself. */
  async function connects(): Promise<void> {
    const done = await world.alice.tsh(["db", "connect", "--db-user=reader", "--db-name=orders", "orders", "-XAtc", "select current_user"]);
    expect(done, done.stderr).toMatchObject({ status: 0, stdout: "reader\n" });
  }

  test("both serve it, also the one behind an HTTP proxy with no port open to anybody", async () => {
    await until("sessions have used both", async () => {
      await connects();
      return new Set(await used()).size === 2;
    });
    expect(await squid.accessLog()).toMatch(/CONNECT/);
    const listening = await output("ss", ["-Hltnp"], { netns: network.netns });
    expect(listening.split("\n").filter((line) => line !== "" && !line.includes("squid"))).toEqual([]);
  });

  test("a tunnel that is open goes on with the certificate of a newer login, and carries 20 connections at once", { timeout: 120_000 }, async () => {
    await using local = await databaseTunnel(world.alice, "orders", ["--tunnel"]);
    expect((await psql(local.port, ["select 1"])).status).toBe(0);
    await putRole(world.cluster, "late", { allow: { db_labels: { env: "test" }, db_users: ["auditor"], db_names: ["orders"] } });
    await world.server.sql("create role auditor login");
    await world.cluster.admin("users", "update", "alice", "--set-roles=dba,late");
    const before = await psql(local.port, ["select current_user"], "auditor");
    expect(before.stderr).toMatch(/alice may not connect as auditor/);
    expect((await world.alice.login()).status).toBe(0);
    const all = await Promise.all(Array.from({ length: 20 }, () => psql(local.port, ["select current_user"], "auditor")));
    expect(new Set(all.map(({ stdout, stderr }) => stdout + stderr))).toEqual(new Set(["auditor\n"]));
    await audited(world.cluster, "db.session.start", { user: "alice", db_user: "auditor", success: true });
  });

  test("an agent that is cut off from the database is avoided within 30 seconds, also by a tunnel that has used it", {
    timeout: 120_000,
  }, async () => {
    await using local = await databaseTunnel(world.alice, "orders", ["--tunnel"]);
    await using through = await tunnelThrough("db-1");
    const { port } = world.server;
    await output("nft", ["add", "rule", "inet", "fw", "cut", "tcp", "dport", String(port), "drop"], { netns: network.netns });
    const began = performance.now();
    await until("the agent knows", async () => (await healthOf()).includes("db-1 unhealthy"), 45_000);
    expect(performance.now() - began).toBeLessThan(rounds(30_000, 34_000));
    const before = (await used()).length;
    for (let round = 0; round < 3; round += 1) await connects();
    for (const one of [local, through]) expect(await psql(one.port, ["select 1"])).toMatchObject({ status: 0, stdout: "1\n", stderr: "" });
    await until("their starts are in the audit log", async () => (await used()).length === before + 5);
    expect((await used()).slice(before)).toEqual(Array.from({ length: 5 }, () => "db-2"));
    const shown = (await world.alice.tsh(["db", "ls"])).stdout;
    expect(shown).toMatch(/^orders +postgres +healthy +1 of 2 /m);
    expect(shown).toMatch(/^orders +db-1 +.*did not come within/m);
    const looked = await world.alice.tsh(["doctor", "db/orders", "--db-user=reader", "--db-name=orders"]);
    expect(looked.stdout).toMatch(/^warning +agents +.*db-1 sees it unhealthy/m);
    expect(looked.stdout).toMatch(/^ok +names +the agent on db-2 lets you connect as reader, database orders$/m);
    expect(looked.status).toBe(0);
  });

  /** A tunnel whose last connection went to this agent. */
  async function tunnelThrough(name: string) {
    return await until(`a tunnel through ${name}`, async () => {
      const tunnel = await databaseTunnel(world.alice, "orders");
      const before = (await used()).length;
      expect((await psql(tunnel.port, ["select 1"])).status).toBe(0);
      const last = await until("its start is in the audit log", async () => (await used())[before]);
      if (last === name) return tunnel;
      await tunnel[Symbol.asyncDispose]();
      return undefined;
    });
  }

  test("when no agent reaches the database, psql says that it is unreachable, by name; when it is back, so are sessions", {
    timeout: 120_000,
  }, async () => {
    await using local = await databaseTunnel(world.alice, "orders");
    await world.server.kill();
    const failed = await psql(local.port, ["select 1"]);
    expect(failed).toMatchObject({ status: 2, stdout: "" });
    expect(failed.stderr).toMatch(/FATAL: +database orders is unreachable: /);
    expect(failed.stderr).not.toMatch(/access denied/);
    await until("nobody sees it healthy", async () => (await healthOf()).join() === "db-1 unhealthy,db-2 unhealthy", 45_000);
    const looked = await world.alice.tsh(["doctor", "db/orders"]);
    expect(looked).toMatchObject({
      status: 9,
      stdout: expect.stringMatching(/^FAILED +agents +database orders is unreachable for all its agents: /m),
    });
    await world.server.again();
    await output("nft", ["flush", "chain", "inet", "fw", "cut"], { netns: network.netns });
    expect(await psql(local.port, ["select 1"])).toMatchObject({ status: 0, stdout: "1\n" });
  });

  test("where a role demands a code, a tunnel asks once for 20 connections, and other accounts need none", { timeout: 180_000 }, async () => {
    const may = { db_labels: { env: "test" }, db_users: ["auditor"], db_names: ["orders"] };
    await putRole(world.cluster, "late", { options: { require_session_mfa: true }, allow: may });
    const as = (account: string) => ["db", "connect", `--db-user=${account}`, "--db-name=orders", "orders", "-XAtc", "select current_user"];
    await until("the rule holds", async () => (await world.alice.tsh(as("auditor"))).stderr.includes("needs a one-time code"));
    expect(await world.alice.tsh(as("reader"))).toMatchObject({ status: 0, stdout: "reader\n" });
    await using running = tshInTerminal(world.alice, ["proxy", "db", "orders", "--tunnel", "--db-user=auditor"]);
    const port = await until("it listens", () => Number(/127\.0\.0\.1:(\d+)/.exec(running.printed())?.[1]) || undefined);
    const first = psql(port, ["select current_user"], "auditor");
    await typeCode(world.alice, running);
    expect(await first).toMatchObject({ stdout: "auditor\n" });
    const all = await Promise.all(Array.from({ length: 20 }, () => psql(port, ["select current_user"], "auditor")));
    expect(new Set(all.map(({ stdout, stderr }) => stdout + stderr))).toEqual(new Set(["auditor\n"]));
    expect(running.printed().match(/Enter the code of your authenticator for orders/g)).toHaveLength(1);
    await audited(world.cluster, "db.session.start", { user: "alice", db_user: "auditor", success: true, with_mfa: "otp" });
    // The certificate is in the memory of the tunnel alone: a client beside it is refused.
    expect((await world.alice.tsh(as("auditor"))).stderr).toContain("needs a one-time code");
    await second.service.stop();
  });
});
