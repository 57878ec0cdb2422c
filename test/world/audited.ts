import type { Cluster } from "./cluster.ts";
import { until } from "./until.ts";

/** Waits for an audit event that holds all of this. */
export async function audited(cluster: Cluster, event: string, wanted: Readonly<Record<string, unknown>>): Promise<Record<string, unknown>> {
  return await until(`audit event ${event} ${JSON.stringify(wanted)}`, async () => {
    const lines = (await cluster.admin("audit", "ls", "--format=json", `--event=${event}`)).trim().split("\n");
    const events = lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Record<string, unknown>);
    return events.find((one) => Object.entries(wanted).every(([name, value]) => JSON.stringify(one[name]) === JSON.stringify(value)));
  });
}
