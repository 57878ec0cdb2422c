import { clientNetwork } from "./client-network.ts";

/** Refusals of one client that are recorded one by one in a minute; what is beyond is counted. */
const perMinute = 10;
const minuteMs = 60_000;
/** Clients remembered; beyond, all others together are treated as one. */
const maxClients = 10_000;
const others = "(others)";

interface Counted {
  readonly began: number;
  seen: number;
}

/** Refusals of a minute that were not recorded one by one. */
export interface Suppressed {
  /** Address without a port, or the first half of an IPv6 one. */
  readonly client: string;
  readonly count: number;
}

/** Keeps whoever is refused from growing the audit log without bound: ten events a minute for each client, and one sum. */
export class RefusalLimit {
  readonly #clients = new Map<string, Counted>();

  /** Whether this refusal is recorded by itself. Call `ended` before, so that a new minute begins. */
  take(peer: string, now: Date): boolean {
    const network = clientNetwork(peer);
    const client = this.#clients.has(network) || this.#clients.size < maxClients ? network : others;
    const counted = this.#clients.get(client) ?? { began: now.getTime(), seen: 0 };
    this.#clients.set(client, counted);
    counted.seen += 1;
    return counted.seen <= perMinute;
  }

  /** What to sum up now: clients whose minute is over, or all of them at the end. */
  ended(now: Date, all = false): readonly Suppressed[] {
    const over: Suppressed[] = [];
    for (const [client, { began, seen }] of this.#clients) {
      // In the order in which their minutes began: the rest is younger. A clock set back begins anew.
      if (!all && now.getTime() - began < minuteMs && now.getTime() >= began) break;
      this.#clients.delete(client);
      if (seen > perMinute) over.push({ client, count: seen - perMinute });
    }
    return over;
  }
}

/** The words of a sum. */
export function suppressedText(count: number): string {
  return `${count} more refusals of this client within a minute`;
}
