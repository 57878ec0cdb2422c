import { clientNetwork } from "./request-limit.ts";

/** Maximum refusals of one client recorded individually per minute; further ones are counted. */
const perMinute = 10;
const minuteMs = 60_000;
/** Maximum number of clients; all others together are treated as one. */
const maxClients = 10_000;
const others = "(others)";

/** Maximum kinds of one client's refusals that are summed up separately. */
const maxKinds = 8;

interface Counted<K> {
  readonly began: number;
  seen: number;
  /** Refusals that were not recorded, by the text of their kind. */
  readonly left: Map<string, { readonly kind: K | undefined; count: number }>;
}

/** Refusals of a minute that were not recorded individually. */
export interface Suppressed<K> {
  /** Address without a port, or the first half of an IPv6 one. */
  readonly client: string;
  readonly count: number;
  /** The given value; undefined: none, or too many different ones. */
  readonly kind: K | undefined;
}

/** Keeps refused clients from growing the audit log without bound: ten events a minute for each client, and a sum of each kind. */
export class RefusalLimit<K = undefined> {
  readonly #clients = new Map<string, Counted<K>>();

  /** Whether this refusal is recorded individually; `kind`: key of its sum. Call `ended` before, so that a new minute starts. */
  take(peer: string, now: Date, kind?: K): boolean {
    const network = clientNetwork(peer);
    const client = this.#clients.has(network) || this.#clients.size < maxClients ? network : others;
    const counted = this.#clients.get(client) ?? { began: now.getTime(), seen: 0, left: new Map() };
    this.#clients.set(client, counted);
    counted.seen += 1;
    if (counted.seen <= perMinute) return true;
    const text = JSON.stringify(kind) ?? "";
    const isOwn = counted.left.has(text) || counted.left.size < maxKinds;
    const sum = counted.left.get(isOwn ? text : "") ?? { kind: isOwn ? kind : undefined, count: 0 };
    sum.count += 1;
    counted.left.set(isOwn ? text : "", sum);
    return false;
  }

  /** Sums to record now: of clients whose minute is over, or of all at the end. */
  ended(now: Date, all = false): readonly Suppressed<K>[] {
    const over: Suppressed<K>[] = [];
    for (const [client, { began, left }] of this.#clients) {
      // Ordered by the start of their minutes: the rest is younger. A clock set back starts again.
      if (!all && now.getTime() - began < minuteMs && now.getTime() >= began) break;
      this.#clients.delete(client);
      for (const { kind, count } of left.values()) over.push({ client, count, kind });
    }
    return over;
  }
}

/** The text of a sum. */
export function suppressedText(count: number): string {
  return `${count} more refusals of this client within a minute`;
}
