import type { Offered } from "../../../core/resources/offered.ts";
import type { LiveNodes } from "../inventory/live-nodes.ts";
import type { LiveOffered } from "./live-offered.ts";

export interface OfferedResource extends Offered {
  /** Connected hosts that offer the resource with these labels, in order. */
  readonly hostIds: readonly string[];
}

/** Resources that connected hosts offer, by kind and name; a resource with other labels at another host is another entry. Pure. */
export function listOffered(
  offers: Pick<LiveOffered, "all">,
  live: Pick<LiveNodes, "get">,
  isWanted: (one: Offered, hostId: string) => boolean,
): readonly OfferedResource[] {
  const found = new Map<string, OfferedResource>();
  for (const [hostId, offered] of offers.all()) {
    if (live.get(hostId)?.connected !== true) continue;
    for (const one of offered) {
      if (!isWanted(one, hostId)) continue;
      const key = JSON.stringify([one.kind, one.name, Object.entries(one.labels).toSorted()]);
      const hostIds = [...(found.get(key)?.hostIds ?? []), hostId].toSorted();
      found.set(key, { ...one, hostIds });
    }
  }
  return [...found.values()].toSorted((a, b) => (`${a.kind}/${a.name}` < `${b.kind}/${b.name}` ? -1 : 1));
}
