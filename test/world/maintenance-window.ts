import type { Cluster } from "./cluster.ts";
import { until } from "./until.ts";

/** Time that a story needs inside a window, before the hour is over, minutes. */
const roomMinutes = 8;

/**
 * Gives the cluster one maintenance window: the hour that begins so many hours after this one began; 0 is the hour that runs: near
 * its end this waits for the next one, so that no window closes or opens under a story.
 */
export async function setWindow(cluster: Pick<Cluster, "put">, hoursAhead: number, options: { readonly todayOnly?: boolean } = {}): Promise<void> {
  if (hoursAhead === 0) await until("an hour with room in it", () => new Date().getUTCMinutes() < 60 - roomMinutes, (roomMinutes + 1) * 60_000);
  const now = new Date();
  const day = now.toLocaleDateString("en", { weekday: "short", timeZone: "UTC" });
  const lines = [
    ...["kind: cluster_maintenance_config", "spec:", "  agent_upgrades:", `    utc_start_hour: ${(now.getUTCHours() + hoursAhead) % 24}`],
    ...(options.todayOnly === true ? [`    weekdays: [${day}]`] : []),
  ];
  await cluster.put(`${lines.join("\n")}\n`);
}
