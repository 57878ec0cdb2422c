import type { Log } from "../../../core/log/log.ts";
import type { LiveNodes } from "./live-nodes.ts";
import type { LiveOffered } from "./live-offered.ts";

/** Maximum of all lists of dialled hosts together, bytes of JSON: each proxy keeps them. */
const mostBytes = 32 * 1_048_576;
/** The part that is filled when there are more, so that small changes of a list do not move others. */
const filled = 0.9;
/** The part of its size at which a list that proxies have counts beside one that they do not have. */
const kept = 0.8;
/** Time in which changes are collected before the lists are chosen again, ms. */
const collectMs = 250;
/** Minimum time between two log lines, ms. */
const tellMs = 60_000;
/** Maximum number of hosts in one sentence. */
const mostHosts = 4;

export interface OfferRoomDeps {
  readonly offered: Pick<LiveOffered, "bytesOf" | "onChange">;
  readonly live: Pick<LiveNodes, "get" | "onChange">;
  readonly log: Pick<Log, "warn">;
  readonly most?: number | undefined;
}

/**
 * What dialled hosts offer goes to all proxies. Where it is too much together, the lists of the hosts with the largest ones are left out: no host, and no few, can
 * take the room of others that offer little. The hosts themselves stay reachable.
 */
export class OfferRoom {
  readonly #deps: OfferRoomDeps;
  readonly #most: number;
  readonly #listeners = new Set<(id: string) => void>();
  /** Bytes of each list that proxies get, and of those that are left out. */
  readonly #sent = new Map<string, number>();
  readonly #leftOut = new Map<string, number>();
  #bytes = 0;
  /** A timer runs for the next choice. */
  #isDue = false;
  /** When it was logged that lists are left out, of `performance.now`. */
  #toldAt = Number.NEGATIVE_INFINITY;

  constructor(deps: OfferRoomDeps) {
    this.#deps = deps;
    this.#most = deps.most ?? mostBytes;
    deps.offered.onChange((id) => this.#update(id));
    deps.live.onChange((id) => this.#update(id));
  }

  /** Whether proxies do not get what this host offers. */
  isLeftOut(id: string): boolean {
    return this.#leftOut.has(id);
  }

  /** Calls the listener whenever a host's list is left out from now on, or not any more, for as long as the result lives. */
  onChange(listener: (id: string) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /** For `tctl status`, a sentence each. */
  warnings(): readonly string[] {
    if (this.#leftOut.size === 0) return [];
    const { live } = this.#deps;
    const largest = [...this.#leftOut].toSorted(([, a], [, b]) => b - a).slice(0, mostHosts);
    const named = largest.map(([id, bytes]) => `${live.get(id)?.hostname ?? "a host"} (${id}, ${Math.ceil(bytes / 1024)} KiB)`);
    const more = this.#leftOut.size > mostHosts ? [`${this.#leftOut.size - mostHosts} more`] : [];
    return [
      `agents that proxies dial offer more than the ${Math.floor(this.#most / 1_048_576)} MiB that proxies keep, so what those with the largest lists offer ` +
        `is not reachable through them: ${[...named, ...more].join(", ")}; let them offer less, or remove those that are not yours with: tctl nodes rm`,
    ];
  }

  #update(id: string): void {
    const { live, offered } = this.#deps;
    const node = live.get(id);
    const bytes = node?.connected === true && node.isDialled === true ? offered.bytesOf(id) : 0;
    const wasLeftOut = this.#leftOut.delete(id);
    this.#bytes -= this.#sent.get(id) ?? 0;
    this.#sent.delete(id);
    // One that was left out comes back when all are chosen again.
    if (bytes > 0) this.#place(id, bytes, wasLeftOut ? 0 : this.#most);
    // There may be room for others now, or this one may take that of a larger one.
    if (wasLeftOut || this.#leftOut.size > 0) this.#chooseSoon();
    this.#changed([id], new Set(wasLeftOut ? [id] : []));
  }

  #chooseSoon(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    setTimeout(() => this.#choose(), collectMs).unref();
  }

  #place(id: string, bytes: number, most: number): void {
    const fits = this.#bytes + bytes <= most;
    (fits ? this.#sent : this.#leftOut).set(id, bytes);
    if (fits) this.#bytes += bytes;
  }

  /** The smallest lists first; one that is left out replaces none of about its size, as sizes change with each health check. */
  #choose(): void {
    this.#isDue = false;
    const before = new Set(this.#leftOut.keys());
    const rank = ([id, bytes]: readonly [string, number]): number => (this.#sent.has(id) ? bytes * kept : bytes);
    const all = [...this.#sent, ...this.#leftOut].toSorted((a, b) => rank(a) - rank(b));
    const total = all.reduce((sum, [, bytes]) => sum + bytes, 0);
    const most = total <= this.#most ? this.#most : this.#most * filled;
    this.#sent.clear();
    this.#leftOut.clear();
    this.#bytes = 0;
    for (const [id, bytes] of all) this.#place(id, bytes, most);
    this.#changed(
      all.map(([id]) => id),
      before,
    );
  }

  /** Reports which of these hosts are left out now, or were before. */
  #changed(ids: readonly string[], before: ReadonlySet<string>): void {
    const changed = ids.filter((id) => before.has(id) !== this.#leftOut.has(id));
    for (const id of changed) for (const listener of this.#listeners) listener(id);
    if (!changed.some((id) => this.#leftOut.has(id)) || performance.now() - this.#toldAt < tellMs) return;
    this.#toldAt = performance.now();
    for (const warning of this.warnings()) this.#deps.log.warn(warning);
  }
}
