import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { isServiceCluster } from "../../core/identity/cluster-names.ts";
import type { Storage } from "../storage/storage.ts";

const clusterSchema = z.strictObject({ name: z.string(), auth_id: z.uuid(), proxy_id: z.uuid() });

const factsKey = "/cluster/facts";

export interface Cluster {
  readonly name: string;
  /** Id of the auth service, and of a proxy in its process. */
  readonly authId: string;
  readonly proxyId: string;
}

/**
 * The cluster's name and ids: written at the first start, never changed. Throws `invalid` for a different name, and for one that a new cluster
 * may not have.
 */
export async function openCluster(storage: Storage, name: string): Promise<Cluster> {
  if (isServiceCluster(name) && (await storage.get(factsKey)) === undefined) {
    throw new PlatformError("invalid", `a cluster cannot be named ${name}: its hosts would get names of the platform's own services`, {
      hint: "choose another auth_service.cluster_name: for example cluster.example.com",
    });
  }
  try {
    await storage.put({ key: factsKey, value: JSON.stringify({ name, auth_id: randomUUID(), proxy_id: randomUUID() }), expect: "absent" });
  } catch (thrown) {
    if (!(thrown instanceof PlatformError) || thrown.code !== "already_exists") throw thrown;
  }
  const stored = clusterSchema.parse(JSON.parse((await storage.get(factsKey))?.value ?? "null"));
  requireName(stored.name, name);
  return { name, authId: stored.auth_id, proxyId: stored.proxy_id };
}

/** The same for a database that another process may use: nothing is written. Throws `invalid` for a different name. */
export function checkClusterName(file: string, name: string): void {
  if (!existsSync(file)) return;
  let stored: string;
  try {
    using database = new DatabaseSync(file, { readOnly: true, timeout: 2_000 });
    const row = database.prepare("SELECT value FROM entries WHERE key = ?").get(factsKey);
    stored = clusterSchema.parse(JSON.parse(String(row?.value))).name;
  } catch {
    // The start reports problems of the database.
    return;
  }
  requireName(stored, name);
}

function requireName(stored: string, name: string): void {
  if (stored !== name) {
    throw new PlatformError("invalid", `this data_dir belongs to cluster ${stored}; the configuration says ${name}`, {
      hint: `set auth_service.cluster_name to ${stored}: every certificate holds the name, so that it cannot change`,
    });
  }
}

/** Warning for a cluster that was created before its name was refused. */
export function clusterNameWarnings(name: string): readonly string[] {
  if (!isServiceCluster(name)) return [];
  return [
    `this cluster is named ${name}, which is no longer allowed: host names that could impersonate services are left out of certificates; move to another cluster`,
  ];
}
