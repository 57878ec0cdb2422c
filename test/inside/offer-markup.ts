import { randomUUID } from "node:crypto";
import { openAuthClient } from "../../core/api/auth-client.ts";
import { makeAuditEvent } from "../../core/audit/audit-event.ts";
import { until } from "../world/until.ts";
import { joinServingHost, startTestAgent, type TestAgent } from "./connect-agent.ts";
import { clusterName, type TestCluster } from "./open-cluster.ts";
import { recordSession } from "./record-session.ts";

/** A text of a host or a user, which a page has to show as it is. */
export const markup = (place: string): string => `<img src=x onerror=alert(1)>${place}<script>alert(2)</script>`;

/** The version of a host with markup: longer ones are refused. */
export const markupVersion = "1.2.3<b>";
/** The place whose markup no page shows: names of other applications count only where they are offered. */
export const droppedMarkup = "required";

/** Hosts that have put markup into each text that is theirs. */
export async function offerMarkup(cluster: TestCluster): Promise<TestAgent[]> {
  const credentials = await joinServingHost(cluster, "evil-1", "app");
  const [app, db] = await Promise.all([
    startTestAgent(cluster, { hostname: "evil-1", credentials, labels: { env: markup("label") }, version: markupVersion, services: ["ssh", "app"] }),
    joinServingHost(cluster, "evil-2", "db").then((own) => startTestAgent(cluster, { hostname: "evil-2", credentials: own, services: ["db"] })),
  ]);
  const health = { health: "unhealthy", health_error: markup("error") };
  const facts = { scheme: "http", public_addr: markup("address"), required_apps: markup("required"), ...health };
  const shown = { kind: "app", name: markup("app"), labels: { env: markup("app-label") }, details: facts };
  app.send({ type: "resources", resources: [shown], more: false });
  const details = { protocol: markup("protocol"), ...health };
  db.send({ type: "resources", resources: [{ kind: "db", name: markup("db"), labels: { env: markup("db-label") }, details }], more: false });
  app.send({
    type: "status",
    status: { upgrader: "unit", reason: "internal", detail: markup("detail"), schedule_error: markup("schedule"), sessions: 1 },
  });
  using host = openAuthClient({
    open: cluster.open,
    ca: cluster.hostCaPem,
    credentials: { certificate: credentials.tlsCertificate, privateKey: credentials.tlsPrivateKey },
  });
  const [sid, process, started] = [randomUUID(), randomUUID(), new Date().toISOString()];
  const own = { server_id: credentials.hostId, server_name: "evil-1", user: markup("session-user"), roles: ["access"], login: markup("login") };
  const session = { sid, kind: "ssh", ...own, started, participants: [{ user: markup("guest"), mode: "peer" }], process };
  await host.client.reportSessions({ process, sessionsJson: [JSON.stringify(session)] });
  const origin = { clusterName, now: new Date(), uid: randomUUID() };
  const event = makeAuditEvent({ event: "auth", server_id: credentials.hostId, user: markup("user"), error: markup("event") }, origin);
  await host.client.emitEvents({ eventsJson: [JSON.stringify(event)] });
  await recordSession(cluster, { user: markup("recorded-user"), texts: ["{}\n"] });
  const isOffered = (kind: string) => async () => (await cluster.admin.listOffered({ kind })).resources.some(({ name }) => name === markup(kind));
  for (const kind of ["app", "db"]) await until(`the auth service knows the ${kind}`, isOffered(kind));
  return [app, db];
}
