import { randomUUID } from "node:crypto";
import { type AuthClient, openAuthClient } from "../../core/api/auth-client.ts";
import type { HostCredentials } from "../../core/api/host-credentials.ts";
import type { ServedKind } from "../../core/kinds/service-kinds.ts";
import { writeDocuments } from "../../core/resources/document.ts";
import type { Offered } from "../../core/resources/offered.ts";
import { type ActiveSession, sessionDocument } from "../../core/resources/session.ts";
import { until } from "../world/until.ts";
import { joinServingHost, joinTestHost, startTestAgent, type TestAgent } from "./connect-agent.ts";
import { ago, demoApps, demoClusters, demoDatabases, demoHosts, demoPeople, demoRoles, statusOf } from "./demo-facts.ts";
import { requestText, statementText, terminalText } from "./demo-recordings.ts";
import { enrolUser, type TestUser } from "./enrol-user.ts";
import { memberFile } from "./member-file.ts";
import { startTestCluster, type TestCluster } from "./open-cluster.ts";

/** A cluster as a company might have it, for pictures: hosts, applications, databases, people, sessions and recordings. */
export interface DemoCluster extends AsyncDisposable {
  readonly cluster: TestCluster;
  /** Has every right. */
  readonly boss: TestUser;
  /** Ids of recordings. */
  readonly terminal: string;
  readonly statements: string;
  readonly requests: string;
}

const minute = 60_000;
/** Interval between reports of sessions, ms, as of agents. */
const reportMs = 15_000;

export async function startDemoCluster(): Promise<DemoCluster> {
  const cluster = await startTestCluster({
    proxy: {
      publicAddr: { host: "access.example.com", port: 443 },
      upgradeChannels: { default: { staticVersion: "v1.9.0", critical: false } },
    },
  });
  const { admin } = cluster;
  const put = async (document: object): Promise<void> => void (await admin.putResource({ json: JSON.stringify(document), overwrite: true }));
  for (const [name, description, spec] of demoRoles) await put({ kind: "role", version: "v7", metadata: { name, description }, spec });
  for (const [name, own] of demoPeople) await enrolUser({ admin, client: admin }, { name, roles: own, logins: [name] }, new Date());
  await put({ kind: "user", version: "v2", metadata: { name: "farida" }, spec: { roles: ["developers"] } });
  const boss = await enrolUser(
    { admin, client: admin },
    { name: "ann", roles: ["access", "editor", "auditor", "everything"], logins: ["root"] },
    new Date(),
  );
  const agents = new Map<string, { readonly agent: TestAgent; readonly credentials: HostCredentials }>();
  for (const [hostname, env, team, version] of demoHosts) {
    const credentials = await joinTestHost(cluster, hostname);
    const labels = { env, team };
    const agent = await startTestAgent(cluster, { hostname, credentials, labels, version });
    agent.send({ type: "status", status: statusOf(version), labels });
    agents.set(hostname, { agent, credentials });
  }
  const servers = [
    await serve(cluster, "apps-1.fra", "app", demoApps),
    await serve(cluster, "data-1.fra", "db", demoDatabases),
    await serve(cluster, "kube-1.fra", "kube", demoClusters),
  ];
  agents.get("old-erp.ber")?.agent.end();
  const clients = new Map<string, { readonly client: AuthClient; readonly id: string }>();
  const open = [...agents].map(([name, { credentials }]) => {
    const credential = { certificate: credentials.tlsCertificate, privateKey: credentials.tlsPrivateKey };
    const connection = openAuthClient({ open: cluster.open, ca: cluster.hostCaPem, credentials: credential });
    clients.set(name, { client: connection.client, id: credentials.hostId });
    return connection;
  });
  const clientOf = (name: string): { readonly client: AuthClient; readonly id: string } => {
    const found = clients.get(name);
    if (found === undefined) throw new Error(`the demo cluster does not have a host ${name}`);
    return found;
  };
  await using failed = new AsyncDisposableStack();
  const running = failed.use(new RunningSessions());
  await running.report(clientOf("web-1.fra"), "web-1.fra", [
    { user: "carla", login: "root", minutes: 4, joined: [{ user: "emil", mode: "peer" }] },
    { user: "emil", login: "deploy", minutes: 51, joined: [] },
  ]);
  await running.report(clientOf("build-1.ber"), "build-1.ber", [{ user: "ben", login: "deploy", minutes: 133, joined: [] }]);
  const [terminal, statements, requests] = await Promise.all([
    record(clientOf("web-2.fra"), { name: "web-2.fra", user: "carla", login: "root", minutes: 95, seconds: 214, text: terminalText() }),
    record(clientOf("api-1.fra"), {
      name: "api-1.fra",
      user: "deniz",
      resource: "orders",
      format: "statements",
      minutes: 180,
      seconds: 62,
      text: statementText(),
    }),
    record(clientOf("queue-1.fra"), {
      name: "queue-1.fra",
      user: "ben",
      resource: "grafana",
      format: "requests",
      minutes: 1500,
      seconds: 41,
      text: requestText(),
    }),
  ]);
  await record(clientOf("build-2.ber"), { name: "build-2.ber", user: "ben", login: "deploy", minutes: 4400, seconds: 1840, text: terminalText() });
  await admin.createToken({ roles: ["node"], ttlSeconds: 1800, uses: 1, secret: "" });
  await admin.createToken({ roles: ["node", "app", "db"], ttlSeconds: 86_400, uses: 0, secret: "" });
  await put({
    kind: "lock",
    version: "v2",
    metadata: { name: "lost-laptop-of-farida" },
    spec: { target: { user: "farida" }, message: "your laptop was reported lost", expires: new Date(Date.now() + 26 * 60 * minute).toISOString() },
  });
  await put({
    kind: "lock",
    version: "v2",
    metadata: { name: "no-root-at-night" },
    spec: { target: { login: "toor" }, message: "use your own login" },
  });
  await put({
    kind: "upgrade_rollout",
    version: "v1",
    metadata: { name: "default" },
    spec: {
      groups: [
        { name: "dev", labels: { env: "dev" } },
        { name: "staging", labels: { env: "staging" }, canaries: 1 },
        { name: "prod", labels: { env: "prod" }, wait: "1d" },
      ],
      freezes: [{ from: "2099-12-20", to: "2099-12-27", reason: "end of the year" }],
    },
  });
  await put({
    kind: "cluster_maintenance_config",
    version: "v1",
    metadata: { name: "cluster-maintenance-config" },
    spec: { agent_upgrades: { utc_start_hour: 3, weekdays: ["Tue", "Thu"] } },
  });
  const whole = failed.move();
  return {
    cluster,
    boss,
    terminal,
    statements,
    requests,
    [Symbol.asyncDispose]: async () => {
      await whole.disposeAsync();
      for (const connection of open) connection.close();
      for (const { agent } of agents.values()) agent.end();
      for (const agent of servers) agent.end();
      await cluster[Symbol.asyncDispose]();
    },
  };
}

async function serve(cluster: TestCluster, hostname: string, kind: ServedKind, resources: readonly Offered[]): Promise<TestAgent> {
  const credentials = await joinServingHost(cluster, hostname, kind);
  const agent = await startTestAgent(cluster, { hostname, credentials, labels: { env: "prod", team: "platform" }, version: "1.8.2" });
  agent.send({ type: "resources", resources: [...resources], more: false });
  await until(`the auth service knows what ${hostname} offers`, async () => {
    const { resources: known } = await cluster.admin.listOffered({ kind });
    return known.length === resources.length;
  });
  return agent;
}

interface Running {
  readonly user: string;
  readonly login: string;
  /** Since when. */
  readonly minutes: number;
  readonly joined: ActiveSession["participants"];
}

/** Sessions in progress. The auth service forgets those that are not reported again, so they are, until it is disposed of. */
class RunningSessions implements Disposable {
  readonly #reports: (() => Promise<unknown>)[] = [];
  readonly #timer = setInterval(() => {
    for (const report of this.#reports) report().catch(() => {});
  }, reportMs);

  async report({ client, id }: { readonly client: AuthClient; readonly id: string }, name: string, running: readonly Running[]): Promise<void> {
    const process = randomUUID();
    const sessions = running.map(
      ({ user, login, minutes, joined }): ActiveSession => ({
        sid: randomUUID(),
        kind: "ssh",
        server_id: id,
        server_name: name,
        user,
        roles: [...(demoPeople.find(([one]) => one === user)?.[1] ?? [])],
        login,
        started: ago(minutes * minute),
        participants: joined,
        process,
      }),
    );
    const report = async (): Promise<unknown> => await client.reportSessions({ process, sessionsJson: writeDocuments(sessionDocument, sessions) });
    await report();
    this.#reports.push(report);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

interface Recorded {
  readonly name: string;
  readonly user: string;
  readonly login?: string;
  readonly resource?: string;
  readonly format?: "statements" | "requests";
  /** When it began. */
  readonly minutes: number;
  readonly seconds: number;
  readonly text: string;
}

async function record({ client, id }: { readonly client: AuthClient; readonly id: string }, one: Recorded): Promise<string> {
  const { name, user, login, resource, format, minutes, seconds, text } = one;
  const service = format === undefined ? { login } : { kind: format === "statements" ? "db" : "app", resource, format };
  const started = ago(minutes * minute);
  const facts = { sid: randomUUID(), server_id: id, server_name: name, user, ...service, started };
  const ended = new Date(Date.parse(started) + seconds * 1000).toISOString();
  await client.uploadRecording({
    factsJson: JSON.stringify(facts),
    offset: 0,
    data: memberFile([text]),
    endJson: JSON.stringify({ ended, interrupted: false }),
  });
  return facts.sid;
}
