import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { openUiPage, type UiPage } from "../world/ui-page.ts";
import { joinServingHost, startTestAgent, type TestAgent } from "./connect-agent.ts";
import { enrolUser, type TestUser } from "./enrol-user.ts";
import { startTestCluster, type TestCluster } from "./open-cluster.ts";

/** Where pictures of pages go; left out: none are made. */
const pictures = process.env.UI_PICTURES;

/** Sizes of the page's window. */
export const desk = { width: 1280, height: 800 };
export const phone = { width: 320, height: 640 };

/** A small cluster for the stories of the Web UI, with Chromium: four hosts, one of which offers the application grafana. */
export interface UiWorld extends AsyncDisposable {
  readonly cluster: TestCluster;
  /** Has every right. The codes of this and the next half minute are not used yet. */
  readonly boss: TestUser;
  /** May log in to one host, and nothing else. */
  readonly guest: TestUser;
  readonly agents: readonly TestAgent[];
  readonly ui: UiPage;
  readonly page: Page;
  /** The proxy's address. */
  readonly site: string;
  picture(name: string): Promise<void>;
}

export async function openUiWorld(): Promise<UiWorld> {
  await using opened = new AsyncDisposableStack();
  const cluster = opened.use(await startTestCluster({ proxy: { upgradeChannels: { default: { staticVersion: "v1.9.0", critical: false } } } }));
  await putRoles(cluster);
  const agents = await startAgents(cluster);
  opened.defer(() => {
    for (const agent of agents) agent.end();
  });
  const enrolled = { admin: cluster.admin, client: cluster.admin };
  // A code is good for one login or change: its user can make two more now.
  const before = new Date(Date.now() - 30_000);
  const boss = await enrolUser(enrolled, { name: "boss", roles: ["access", "editor", "auditor", "all-hosts"], logins: ["root"] }, before);
  const guest = await enrolUser(enrolled, { name: "guest", roles: ["prod-hosts"], logins: ["root"] }, new Date());
  const ui = opened.use(await openUiPage());
  if (pictures !== undefined) await mkdir(pictures, { recursive: true });
  const picture = async (name: string): Promise<void> => {
    if (pictures !== undefined) await ui.page.screenshot({ path: join(pictures, `${name}.png`) });
  };
  const site = `https://localhost:${cluster.proxy.addresses.web.port}`;
  const owned = opened.move();
  return { cluster, boss, guest, agents, ui, page: ui.page, site, picture, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

async function putRoles(cluster: TestCluster): Promise<void> {
  const any = { "*": "*" };
  const join_sessions = [{ name: "all", roles: ["*"], kinds: ["*"], modes: ["*"] }];
  const rules = [{ resources: ["cluster_maintenance_config"], verbs: ["*"] }];
  await cluster.putRole("all-hosts", { allow: { logins: ["root"], node_labels: any, app_labels: any, join_sessions, rules } });
  await cluster.putRole("prod-hosts", { allow: { logins: ["root"], node_labels: { env: "prod" } } });
  const metadata = { name: "hostile", description: '<img src=x onerror="document.title=1">' };
  await cluster.admin.putResource({ json: JSON.stringify({ kind: "role", version: "v7", metadata, spec: {} }) });
}

async function startAgents(cluster: TestCluster): Promise<readonly TestAgent[]> {
  const agents = await Promise.all(
    ["web-1", "web-2", "db-1"].map((hostname, at) =>
      startTestAgent(cluster, { hostname, labels: { env: at === 0 ? "prod" : "test", team: at === 2 ? "data" : "web" } }),
    ),
  );
  const credentials = await joinServingHost(cluster, "apps-1", "app");
  const apps = await startTestAgent(cluster, { hostname: "apps-1", credentials, labels: { env: "apps" }, services: ["app"] });
  apps.send({ type: "resources", resources: [{ kind: "app", name: "grafana", labels: {}, details: { scheme: "http" } }], more: false });
  const all = [...agents, apps];
  // Only hosts with an updater take part in a roll-out.
  const status = { upgrader: "unit", upgrader_version: "1.2.3", at: new Date().toISOString(), reason: "outside_window", sessions: 0 } as const;
  for (const agent of all) agent.send({ type: "status", status });
  return all;
}
