import { isNamed } from "../../../core/access/may-offer.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { type HealthFacts, type Offered, type OfferedHealth, offeredHealths, splitHealth } from "../../../core/resources/offered.ts";
import type { OfferLimits } from "../../../core/resources/token.ts";
import type { LiveNodes } from "./live-nodes.ts";
import { type Offers, offerFaults } from "./offer-faults.ts";

/** Maximum of all hosts together, bytes of JSON. */
const mostBytes = 128 * 1024 * 1024;

interface HostOffer {
  readonly offered: readonly Offered[];
  readonly bytes: number;
  /** Of the host's join token. */
  readonly limits: OfferLimits;
}

/** Resources that hosts offer, as reported by their proxies: in memory, used while the host is connected. */
export class LiveOffered {
  readonly #hosts = new Map<string, HostOffer>();
  readonly #live: Pick<LiveNodes, "get">;
  readonly #listeners = new Set<(id: string) => void>();
  #bytes = 0;

  constructor(live: Pick<LiveNodes, "get">) {
    this.#live = live;
  }

  /** Replaces the list of a host. Throws `limit`: the list before stays then. */
  report(hostId: string, offered: readonly Offered[], bytes: number, limits: OfferLimits = {}): void {
    if (offered.length === 0) return void this.forget(hostId);
    const total = this.#bytes - (this.#hosts.get(hostId)?.bytes ?? 0) + bytes;
    if (total > mostBytes) throw new PlatformError("limit", "the hosts of this cluster offer more resources than the auth service can keep");
    this.#hosts.set(hostId, { offered, bytes, limits });
    this.#bytes = total;
    this.#notify(hostId);
  }

  forget(hostId: string): void {
    const known = this.#hosts.get(hostId);
    if (known === undefined) return;
    this.#hosts.delete(hostId);
    this.#bytes -= known.bytes;
    this.#notify(hostId);
  }

  /** Calls the listener whenever a host has reported its list, for as long as the result lives. */
  onChange(listener: (id: string) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /** What a host offers, while it is connected. */
  ofHost(hostId: string): readonly Offered[] {
    return this.#live.get(hostId)?.connected === true ? (this.#hosts.get(hostId)?.offered ?? []) : [];
  }

  /** Bytes of the list of a host, connected or not. */
  bytesOf(hostId: string): number {
    return this.#hosts.get(hostId)?.bytes ?? 0;
  }

  /** Forgets the resources of services that the host does not run any more. */
  keepServices(hostId: string, services: readonly string[]): void {
    const { offered = [], limits } = this.#hosts.get(hostId) ?? {};
    const kept = offered.filter(({ kind }) => services.includes(kind));
    if (kept.length < offered.length) this.report(hostId, kept, Buffer.byteLength(JSON.stringify(kept)), limits);
  }

  /** Whether the join token of a host names resources of this kind. */
  isNamed(hostId: string, kind: string): boolean {
    return isNamed(this.#hosts.get(hostId)?.limits ?? {}, kind);
  }

  /** What a connected host offers under this name; undefined: nothing. */
  of(hostId: string, kind: string, name: string): Offered | undefined {
    if (this.#live.get(hostId)?.connected !== true) return undefined;
    return this.#hosts.get(hostId)?.offered.find((one) => one.kind === kind && one.name === name);
  }

  /** Whether a host is connected and has reported what it offers. After a start of the auth service the proxies need a moment for that. */
  isKnown(hostId: string): boolean {
    return this.#live.get(hostId)?.connected === true && this.#hosts.has(hostId);
  }

  #notify(hostId: string): void {
    for (const listener of this.#listeners) listener(hostId);
  }

  *all(): IterableIterator<readonly [hostId: string, offered: readonly Offered[]]> {
    for (const [hostId, { offered }] of this.#hosts) yield [hostId, offered];
  }
}

const passedOverReason = "not used: the join token of another host that offers it names it, and that of this host names none";

/** A connected host that offers a resource, and how it sees it. */
export interface OfferingHost extends HealthFacts {
  readonly id: string;
  readonly hostname: string;
}

export interface OfferedResource extends Offered {
  /** Facts of its kind, without the health that each host sees for itself. */
  readonly details: Readonly<Record<string, string>>;
  /** Connected hosts that offer the resource with these labels, by id. */
  readonly hosts: readonly OfferingHost[];
  /** Why no connection uses it; empty: nothing is wrong. */
  readonly unused: string;
  /** Other hosts, whose token names it, offer it. */
  readonly isPassedOver: boolean;
}

/** Resources that connected hosts offer, by kind and name; a resource with other labels at another host is another entry. Pure. */
export function listOffered(
  offers: Offers,
  live: Pick<LiveNodes, "get">,
  isWanted: (one: Offered, hostId: string) => boolean,
): readonly OfferedResource[] {
  const faults = offerFaults(offers, live);
  const found = new Map<string, OfferedResource & { readonly hosts: OfferingHost[] }>();
  for (const [id, offered] of offers.all()) {
    const node = live.get(id);
    if (node?.connected !== true) continue;
    for (const one of offered) {
      if (!isWanted(one, id)) continue;
      const { details, ...health } = splitHealth(one);
      const fault = faults.get(`${one.kind}/${one.name}`);
      const isPassedOver = fault?.passedOver.has(id) === true;
      const key = JSON.stringify([one.kind, one.name, Object.entries(one.labels).toSorted(), Object.entries(details).toSorted(), isPassedOver]);
      const unused = isPassedOver ? passedOverReason : (fault?.difference ?? "");
      const entry = found.get(key) ?? { ...one, details, hosts: [], unused, isPassedOver };
      entry.hosts.push({ id, hostname: node.hostname, ...health });
      found.set(key, entry);
    }
  }
  for (const { hosts } of found.values()) hosts.sort((a, b) => (a.id < b.id ? -1 : 1));
  return [...found.values()].toSorted((a, b) => (`${a.kind}/${a.name}` < `${b.kind}/${b.name}` ? -1 : 1));
}

/** The health of a resource for users: that of its best host, as a connection uses that one. Pure. */
export function bestHealth(hosts: readonly Pick<OfferingHost, "health">[]): OfferedHealth {
  return offeredHealths.find((health) => hosts.some((host) => host.health === health)) ?? "unknown";
}
