import type { AuthContext } from "../auth-context.ts";
import { directHostPrefix } from "../inventory/direct-hosts.ts";
import { awaySince } from "../inventory/find-hosts.ts";

/** A host that shares a name with others. */
export interface Namesake {
  readonly id: string;
  readonly connected: boolean;
  /** Time since when it is not connected, if known. */
  readonly since?: Date | undefined;
}
export interface SharedName {
  readonly name: string;
  readonly hosts: readonly Namesake[];
}

/** Maximum number of names listed with a sentence each. */
const mostNamed = 5;
/** Maximum number of hosts in one sentence. */
const mostHosts = 4;

/**
 * For `tctl status`: names that are unusable until a host that is gone is removed. Names of hosts that are all connected, or all disconnected,
 * are left out. Pure.
 */
export function sharedNameWarnings(all: readonly SharedName[]): readonly string[] {
  const sentences = new Map<string, string>();
  for (const { name, hosts } of all.toSorted((a, b) => a.name.length - b.name.length || (a.name < b.name ? -1 : 1))) {
    const same = hosts
      .map(({ id }) => id)
      .toSorted()
      .join();
    // The short name suffices.
    if (!sentences.has(same) && hosts.some(({ connected }) => connected) && hosts.some(({ connected }) => !connected))
      sentences.set(same, sentence(name, hosts));
  }
  const more = sentences.size - mostNamed;
  const shown = [...sentences.values()].slice(0, mostNamed);
  return more > 0 ? [...shown, `${more} more names belong to several hosts, not all of them connected: tctl nodes ls`] : shown;
}

function sentence(name: string, hosts: readonly Namesake[]): string {
  const sorted = hosts.toSorted((a, b) => Number(a.connected) - Number(b.connected) || (a.since?.getTime() ?? 0) - (b.since?.getTime() ?? 0));
  const listed = sorted.slice(0, mostHosts).map(({ id, connected, since }) => {
    const away = since === undefined ? "not connected" : `not connected since ${since.toISOString()}`;
    return `${id} (${connected ? "connected" : away})`;
  });
  const more = hosts.length > mostHosts ? [`${hosts.length - mostHosts} more`] : [];
  const gone = sorted[0]?.id;
  return (
    `${name} is the name of ${hosts.length} hosts, so they are reachable only by id: ${[...listed, ...more].join(", ")}; ` +
    `if the first is gone for good, free the name with: tctl nodes rm ${gone}`
  );
}

/** Names that several hosts have by their records. Hosts in direct mode share names on purpose. */
export async function sharedNames(context: Pick<AuthContext, "storage" | "names" | "live" | "presence">): Promise<readonly SharedName[]> {
  const { storage, names, live } = context;
  const shared = await names.shared();
  if (shared.length === 0) return [];
  const dialled = new Set((await storage.list(directHostPrefix)).map(({ key }) => key.slice(directHostPrefix.length)));
  return shared
    .filter(([, ids]) => !ids.every((id) => dialled.has(id)))
    .map(([name, ids]) => ({
      name,
      hosts: ids.map((id) => (live.get(id)?.connected === true ? { id, connected: true } : { id, connected: false, since: awaySince(context, id) })),
    }));
}
