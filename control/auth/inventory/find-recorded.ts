import { nodeSchema } from "../../../core/resources/node.ts";
import type { RecordedHost } from "../../../core/resources/recorded-host.ts";
import type { AuthContext } from "../auth-context.ts";
import { documentKey, fromEntry } from "../documents/document.ts";

/** Hosts of one name that are told; more are as ambiguous. */
const maxFound = 100;

type Context = Pick<AuthContext, "storage" | "live" | "presence" | "names" | "clusterName">;

/**
 * Hosts that are recorded under the target, but those that are told already: one that is away keeps its name until its record is removed, so
 * that no other host is taken for it. Those that are not connected come first.
 */
export async function findRecorded(context: Context, target: string, told: ReadonlySet<string>): Promise<readonly RecordedHost[]> {
  const { storage, live, names, clusterName } = context;
  const isConnected = (id: string): boolean => live.get(id)?.connected === true;
  const meant = await names.find(target.slice(0, 600), clusterName);
  // Almost always: the one host of that name, which the asking proxy knows.
  if (meant.length === 1 && meant.every(isConnected)) return [];
  const ids = meant.filter((id) => !told.has(id)).sort((a, b) => Number(isConnected(a)) - Number(isConnected(b)));
  const found = ids.slice(0, maxFound).map(async (id) => {
    const entry = await storage.get(documentKey("node", id));
    if (entry === undefined) return [];
    const { metadata, spec } = fromEntry(nodeSchema, entry);
    const since = isConnected(id) ? undefined : awaySince(context, id)?.toISOString();
    return [{ id, hostname: spec.hostname, labels: metadata.labels ?? {}, ...(since !== undefined && { since }) }];
  });
  return (await Promise.all(found)).flat();
}

/** Since when a host that is not connected is so; unknown, for a minute, of one that was not heard of since the auth service started. */
export function awaySince({ live, presence }: Pick<Context, "live" | "presence">, id: string): Date | undefined {
  const since = live.get(id)?.since.getTime() ?? presence.absent.get(id)?.since;
  return since === undefined ? undefined : new Date(since);
}

/** Whether another host is recorded under one of these names. */
export async function isShared({ names: recorded, clusterName }: Context, id: string, names: readonly string[]): Promise<boolean> {
  for (const name of new Set(names)) if ((await recorded.find(name, clusterName)).some((other) => other !== id)) return true;
  return false;
}
