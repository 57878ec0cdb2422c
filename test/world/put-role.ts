import type { Cluster } from "./cluster.ts";

/** Creates a role, or replaces it. Throws with tctl's output when it is refused. */
export async function putRole(cluster: Pick<Cluster, "tctl">, name: string, spec: object): Promise<void> {
  const role = JSON.stringify({ kind: "role", version: "v7", metadata: { name }, spec });
  const done = await cluster.tctl(["create", "-f", "-"], { input: role });
  if (done.status !== 0) throw new Error(`role ${name}: ${done.stderr}`);
}
