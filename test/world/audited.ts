import type { Cluster } from "./cluster.ts";
import { until } from "./until.ts";

export type AuditEvent = Readonly<Record<string, unknown>>;

/** The audit events of this name, the oldest first. */
export async function auditEvents(cluster: Pick<Cluster, "admin">, event: string): Promise<AuditEvent[]> {
  const lines = (await cluster.admin("audit", "ls", "--format=json", `--event=${event}`)).split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as AuditEvent);
}

/** Waits for an audit event that holds all of this, or that the search finds. */
export async function audited(cluster: Cluster, event: string, wanted: AuditEvent | ((event: AuditEvent) => boolean)): Promise<AuditEvent> {
  const holds = (one: AuditEvent): boolean => Object.entries(wanted).every(([name, value]) => JSON.stringify(one[name]) === JSON.stringify(value));
  const search = typeof wanted === "function" ? wanted : holds;
  const what = typeof wanted === "function" ? "" : JSON.stringify(wanted);
  return await until(`audit event ${event} ${what}`, async () => (await auditEvents(cluster, event)).find(search));
}
