import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { hostWrite } from "../../control/auth/inventory/host-records.ts";
import { openSqlite } from "../../control/storage/sqlite.ts";
import type { Cluster } from "./cluster.ts";

/** Records in one transaction. */
const batchSize = 1_000;

/** Name of a host: they have no order that is theirs alone. */
export function filledName(at: number, count: number): string {
  return `web-${(at * 7919) % count}.region-${at % 17}.example.com`;
}

/** Hosts that once joined this cluster and are away now, put into the storage of its auth service, which is stopped meanwhile. */
export async function fillHosts(cluster: Pick<Cluster, "dir" | "control" | "restart">, count: number): Promise<void> {
  await cluster.control.stop();
  const storage = openSqlite({ path: join(cluster.dir, "control/auth/state.sqlite") });
  for (let first = 0; first < count; first += batchSize) {
    await storage.batch(
      Array.from({ length: Math.min(batchSize, count - first) }, (_, offset) => {
        const at = first + offset;
        return hostWrite("node", {
          kind: "node",
          version: "v2",
          metadata: { name: randomUUID(), labels: { env: at % 3 === 0 ? "prod" : "test", team: `team-${at % 40}` } },
          spec: { hostname: filledName(at, count), services: ["ssh"], version: `1.${at % 3}.0` },
        });
      }),
    );
  }
  await storage.close();
  await cluster.restart();
}
