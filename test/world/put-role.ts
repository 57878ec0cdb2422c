import type { Cluster } from "./cluster.ts";

/** Creates a role, or replaces it. Throws with tctl's output when it is refused. */
export async function putRole(cluster: Pick<Cluster, "put">, name: string, spec: object): Promise<void> {
  await cluster.put(JSON.stringify({ kind: "role", version: "v7", metadata: { name }, spec }));
}
