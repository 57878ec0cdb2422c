import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Offered } from "../../../core/resources/offered.ts";
import type { LiveNodes } from "./live-nodes.ts";

/** Maximum of all hosts together, bytes of JSON. */
const mostBytes = 128 * 1024 * 1024;

interface HostOffer {
  readonly offered: readonly Offered[];
  readonly bytes: number;
}

/** Resources that hosts offer, as reported by their proxies: in memory, used while the host is connected. */
export class LiveOffered {
  readonly #hosts = new Map<string, HostOffer>();
  #bytes = 0;

  /** Replaces the list of a host. Throws `limit`. */
  report(hostId: string, offered: readonly Offered[], bytes: number): void {
    this.forget(hostId);
    if (offered.length === 0) return;
    if (this.#bytes + bytes > mostBytes)
      throw new PlatformError("limit", "the hosts of this cluster offer more resources than the auth service can keep");
    this.#hosts.set(hostId, { offered, bytes });
    this.#bytes += bytes;
  }

  forget(hostId: string): void {
    const known = this.#hosts.get(hostId);
    if (known === undefined) return;
    this.#hosts.delete(hostId);
    this.#bytes -= known.bytes;
  }

  *all(): IterableIterator<readonly [hostId: string, offered: readonly Offered[]]> {
    for (const [hostId, { offered }] of this.#hosts) yield [hostId, offered];
  }
}

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
