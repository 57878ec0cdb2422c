import { type AppBrowser, openAppBrowser } from "./app-browser.ts";
import { logInToApp, type Visitor } from "./app-client.ts";
import { type Cluster, startCluster } from "./cluster.ts";
import type { Agent } from "./cluster-agent.ts";
import { putRole } from "./put-role.ts";
import { until } from "./until.ts";

/** Of the role `apps`, which both users have. */
export const everyApp = { allow: { app_labels: { "*": "*" } } };

/** A cluster with the applications `wiki` and `plain` at one server; its agent takes further ones of the team `stock`. */
export interface WikiWorld {
  readonly cluster: Cluster;
  readonly agent: Agent;
  /** With a certificate for the wiki. */
  readonly alice: Visitor;
  /** A browser that is logged in to the wiki, and her at it. */
  readonly browser: AppBrowser;
  readonly carol: Visitor;
  /** Nobody, at the proxy's own host name. */
  readonly site: Visitor;
}

export async function openWiki(uri: string): Promise<WikiWorld> {
  const cluster = await startCluster({ proxyService: "  apps_domain: apps.test\n" });
  try {
    return await serveWiki(cluster, uri);
  } catch (thrown) {
    await cluster[Symbol.asyncDispose]();
    throw thrown;
  }
}

async function serveWiki(cluster: Cluster, uri: string): Promise<WikiWorld> {
  await putRole(cluster, "apps", everyApp);
  const services = `app_service:
  enabled: yes
  resources:
    - labels: { team: stock }
  apps:
    - name: wiki
      uri: ${uri}
      rewrite: { redirect: [inside.test], headers: ["X-Login: {{internal.logins}}"] }
      cors: { allowed_origins: ["https://one.test"], allowed_methods: [PUT] }
    - { name: plain, uri: "${uri}" }
`;
  const agent = await cluster.agent({ name: "apps-1", token: await cluster.token("--type=app"), services, noWait: true });
  const roles = { roles: "apps", logins: "root,ubuntu" };
  const [user, person] = await Promise.all([cluster.user("alice", roles), cluster.user("carol", { ...roles, noLogin: true })]);
  await until("the agent offers them", async () => (await user.tsh(["apps", "ls", "--format=names"])).stdout.includes("wiki"));
  const alice = (await logInToApp(user, "wiki", { address: "127.0.0.1", port: cluster.ports.web })).visitor;
  const site = { ...alice, host: "127.0.0.1", certificate: undefined };
  const browser = await openAppBrowser(site, person);
  return { cluster, agent, alice, site, browser, carol: await browser.open("wiki.apps.test") };
}
