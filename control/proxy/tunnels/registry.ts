import { type AgentOffer, entitledOffers } from "../../../core/access/agreed-offers.ts";
import { isNamed } from "../../../core/access/may-offer.ts";
import { canonicalName, namesMeant } from "../../../core/identity/cluster-names.ts";
import type { Offered } from "../../../core/resources/offered.ts";
import { deadMs } from "../../../core/transport/tunnel-message.ts";
import type { Tunnel } from "./tunnel.ts";

/** The registry's view of a tunnel. */
export type Registered = Pick<
  Tunnel,
  "identity" | "facts" | "peer" | "draining" | "ended" | "silentFor" | "send" | "end" | "streams" | "sharesName" | "offered" | "offerLimits"
>;

/** The same as streams are routed to it. */
export type RoutedTunnel = Registered & Pick<Tunnel, "openStream" | "refusedServices">;

/** A tunnel whose agent offers a resource. */
export interface Offering<T> {
  readonly tunnel: T;
  readonly offered: Offered;
}

/** The same, as rules about several agents see it. */
export function agentOffer<T extends Pick<Registered, "identity" | "facts">>({ tunnel, offered }: Offering<T>): AgentOffer {
  return { host: { id: tunnel.identity.id, name: tunnel.facts.hostname }, offered };
}

/** All tunnels of this proxy, by host id and by name. A host may have several: the newest is used, and older ones finish their streams. */
export class TunnelRegistry<T extends Registered = Tunnel> {
  /** Host id → tunnels, newest first. */
  readonly #byId = new Map<string, T[]>();
  /** Name in canonical spelling → host ids. */
  readonly #byName = new Map<string, Set<string>>();
  /** Kind and name of a resource → host ids. */
  readonly #byResource = new Map<string, Set<string>>();
  /** Waiters for a host's tunnel, by its id. */
  readonly #waiting = new Map<string, Set<() => void>>();
  /** Waiters for any agent's list of resources. */
  readonly #offerWaiting = new Set<() => void>();
  #offersRevision = 0;

  /** Changes with every list of resources. */
  get offersRevision(): number {
    return this.#offersRevision;
  }

  get size(): number {
    let count = 0;
    for (const tunnels of this.#byId.values()) count += tunnels.length;
    return count;
  }

  *all(): IterableIterator<T> {
    for (const tunnels of this.#byId.values()) yield* tunnels;
  }

  add(tunnel: T): void {
    const { id } = tunnel.identity;
    const older = this.#byId.get(id) ?? [];
    this.#byId.set(id, [tunnel, ...older]);
    for (const name of names(tunnel)) {
      const ids = this.#byName.get(name) ?? new Set();
      this.#byName.set(name, ids.add(id));
    }
    for (const wake of this.#waiting.get(id) ?? []) wake();
  }

  /** The host's current tunnel, as soon as there is one; undefined: none arrived in time. */
  async arrival(id: string, limitMs: number): Promise<T | undefined> {
    if (this.newest(id) !== undefined) return this.newest(id);
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiting = this.#waiting.get(id) ?? new Set();
    this.#waiting.set(id, waiting.add(resolve));
    const timer = setTimeout(resolve, limitMs);
    await promise;
    clearTimeout(timer);
    waiting.delete(resolve);
    if (waiting.size === 0 && this.#waiting.get(id) === waiting) this.#waiting.delete(id);
    return this.newest(id);
  }

  /** Sets the resources that the tunnel's agent offers from now on. */
  offer(tunnel: T, offered: readonly Offered[]): void {
    this.#unlist(tunnel);
    tunnel.offered = offered;
    if (tunnel.ended) return;
    const { id } = tunnel.identity;
    for (const key of offered.map(resourceKey)) this.#byResource.set(key, (this.#byResource.get(key) ?? new Set()).add(id));
    for (const wake of this.#offerWaiting) wake();
  }

  /** The tunnels whose agents offer a resource and count for it (`entitledOffers`), with the labels that each assigns to it. */
  offering(kind: string, name: string): readonly Offering<T>[] {
    return entitledOffers(this.allOffering(kind, name), ({ tunnel }) => isNamed(tunnel.offerLimits, kind));
  }

  /**
   * The tunnels whose agents offer a resource, of each host the newest that does: while an agent is being reloaded, its new process may not know yet what
   * it offers.
   */
  allOffering(kind: string, name: string): readonly Offering<T>[] {
    return [...(this.#byResource.get(resourceKey({ kind, name })) ?? [])].flatMap((id) => {
      const usable = (this.#byId.get(id) ?? []).filter((tunnel) => !tunnel.draining && !tunnel.ended);
      const offers = usable.flatMap((tunnel) =>
        tunnel.offered.filter((one) => one.kind === kind && one.name === name).map((offered) => ({ tunnel, offered })),
      );
      return offers.slice(0, 1);
    });
  }

  /** The same as soon as there is one; empty: no agent offered it in time. */
  async offeredSoon(kind: string, name: string, limitMs: number): Promise<readonly Offering<T>[]> {
    const end = performance.now() + limitMs;
    for (;;) {
      const [found, leftMs] = [this.offering(kind, name), end - performance.now()];
      if (found.length > 0 || leftMs <= 0) return found;
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, leftMs);
      this.#offerWaiting.add(resolve);
      await promise;
      clearTimeout(timer);
      this.#offerWaiting.delete(resolve);
    }
  }

  #unlist(tunnel: T): void {
    this.#offersRevision += 1;
    const { id } = tunnel.identity;
    const kept = new Set((this.#byId.get(id) ?? []).filter((other) => other !== tunnel).flatMap(({ offered }) => offered.map(resourceKey)));
    for (const key of tunnel.offered.map(resourceKey)) {
      if (kept.has(key)) continue;
      const ids = this.#byResource.get(key);
      ids?.delete(id);
      if (ids?.size === 0) this.#byResource.delete(key);
    }
  }

  /** Returns whether the host has no tunnel left here. */
  remove(tunnel: T): boolean {
    const { id } = tunnel.identity;
    this.#unlist(tunnel);
    const left = (this.#byId.get(id) ?? []).filter((other) => other !== tunnel);
    const kept = new Set(left.flatMap(names));
    for (const name of names(tunnel)) {
      if (kept.has(name)) continue;
      const ids = this.#byName.get(name);
      ids?.delete(id);
      if (ids?.size === 0) this.#byName.delete(name);
    }
    if (left.length > 0) this.#byId.set(id, left);
    else this.#byId.delete(id);
    return left.length === 0;
  }

  /**
   * The newest usable tunnel of each host that matches the target: an id, a name, or either followed by `.cluster`. All of them: a host
   * named like another one followed by the cluster makes the target ambiguous, and does not get the other's streams.
   */
  find(target: string, cluster: string): readonly T[] {
    const ids = namesMeant(target, cluster).flatMap((name) => (this.#byId.has(name) ? [name] : [...(this.#byName.get(name) ?? [])]));
    return [...new Set(ids)].flatMap((id) => this.newest(id) ?? []);
  }

  ofHost(id: string): readonly T[] {
    return this.#byId.get(id) ?? [];
  }

  /** Ends every tunnel that has been silent for too long; returns them. */
  sweep(now: number): readonly T[] {
    const dead = [...this.all()].filter((tunnel) => tunnel.silentFor(now) >= deadMs);
    for (const tunnel of dead) tunnel.end();
    return dead;
  }

  /** The host's current tunnel: of the process that serves it now. */
  newest(id: string): T | undefined {
    return this.#byId.get(id)?.find((tunnel) => !tunnel.draining && !tunnel.ended);
  }
}

function names(tunnel: Registered): readonly string[] {
  return [...new Set([tunnel.facts.hostname, ...tunnel.identity.names].map(canonicalName))];
}

function resourceKey({ kind, name }: Pick<Offered, "kind" | "name">): string {
  return `${kind}/${name}`;
}
