import { expiryWarning, type ProxyFacts, validityOf, type WebCertificate } from "../../../core/resources/proxy-facts.ts";
import { formatHostPort, parseHostPort } from "../../../core/transport/host-port.ts";

/* What is known of proxies while they are connected: their addresses, and their reports about themselves. */

interface LiveProxy {
  readonly address: string;
  /** Number of open watches. */
  watches: number;
  /** Time since when there is none, ms. */
  goneAt: number;
}

/** How long the address of a disconnected proxy is still returned, ms: it may just restart. */
const rememberedMs = 24 * 3_600_000;

/** Public web addresses of proxies: in memory, as reported while they watch. */
export class LiveProxies {
  readonly #proxies = new Map<string, LiveProxy>();
  readonly #now: () => Date;
  readonly #started: number;

  constructor(now: () => Date) {
    this.#now = now;
    this.#started = now().getTime();
  }

  /** A proxy watches for as long as the result lives. Throws `invalid` unless it is `host:port`; empty: it reported none. */
  watching(id: string, publicAddr: string): Disposable {
    if (publicAddr === "") return { [Symbol.dispose]: () => {} };
    const address = formatHostPort(parseHostPort(publicAddr, undefined, "public_addr"));
    const proxy: LiveProxy = { address, watches: (this.#proxies.get(id)?.watches ?? 0) + 1, goneAt: 0 };
    this.#proxies.delete(id);
    this.#proxies.set(id, proxy);
    return {
      [Symbol.dispose]: () => {
        const last = this.#proxies.get(id);
        if (last === undefined) return;
        last.watches -= 1;
        last.goneAt = this.#now().getTime();
      },
    };
  }

  forget(id: string): void {
    this.#proxies.delete(id);
  }

  isConnected(id: string): boolean {
    return (this.#proxies.get(id)?.watches ?? 0) > 0;
  }

  /** Ids of those that are connected. */
  connected(): readonly string[] {
    return [...this.#proxies].flatMap(([id, { watches }]) => (watches > 0 ? [id] : []));
  }

  /** Whether it was connected since this service started, but is not now. */
  isLost(id: string): boolean {
    return this.#proxies.get(id)?.watches === 0;
  }

  /** How long it has been disconnected, ms; a proxy not seen since this service started counts from then. */
  goneForMs(id: string): number {
    const proxy = this.#proxies.get(id);
    if ((proxy?.watches ?? 0) > 0) return 0;
    return this.#now().getTime() - (proxy?.goneAt ?? this.#started);
  }

  /** Public address of this proxy; undefined: it reported none. */
  addressOf(id: string): string | undefined {
    return this.#proxies.get(id)?.address;
  }

  /** Each once: the connected ones first. */
  addresses(): readonly string[] {
    const oldest = this.#now().getTime() - rememberedMs;
    for (const [id, { watches, goneAt }] of this.#proxies) if (watches === 0 && goneAt < oldest) this.#proxies.delete(id);
    const all = [...this.#proxies.values()];
    return [...new Set([...all.filter(({ watches }) => watches > 0), ...all].map(({ address }) => address))];
  }
}

/** Age after which a proxy's report is ignored, ms; it reports every minute. */
const reportMs = 180_000;
const maxProxies = 1000;

/** Reports of proxies about themselves: in memory, received with their version channels. */
export class ProxyReports {
  readonly #proxies = new Map<string, { readonly facts: ProxyFacts; readonly at: number }>();
  readonly #now: () => Date;

  constructor(now: () => Date) {
    this.#now = now;
  }

  report(proxy: string, facts: ProxyFacts): void {
    this.#proxies.delete(proxy);
    this.#proxies.set(proxy, { facts, at: this.#now().getTime() });
    for (const oldest of this.#proxies.keys()) {
      if (this.#proxies.size <= maxProxies) break;
      this.#proxies.delete(oldest);
    }
  }

  forget(proxy: string): void {
    this.#proxies.delete(proxy);
  }

  /** Certificates of the proxies' web addresses, with the id of the proxy. */
  certificates(): readonly (WebCertificate & { readonly proxy: string })[] {
    return this.#current().flatMap(([proxy, { web_certificates: all }]) => all.map((one) => ({ ...one, proxy })));
  }

  /** Warnings for an admin, a sentence each. `named` returns a readable name of a proxy. */
  warnings(named: (proxy: string) => string): readonly string[] {
    return this.#current().flatMap(([proxy, { web_certificates: certificates, failed_reload: failed }]) => [
      ...certificates.flatMap((certificate) => {
        const warning = expiryWarning(validityOf(certificate), this.#now());
        return warning === undefined ? [] : [`the web certificate of ${named(proxy)} ${warning}: renew ${certificate.file}`];
      }),
      ...(failed === undefined ? [] : [failedReloadWarning(`the proxy ${named(proxy)}`, failed)]),
    ]);
  }

  #current(): readonly (readonly [string, ProxyFacts])[] {
    const oldest = this.#now().getTime() - reportMs;
    for (const [proxy, { at }] of this.#proxies) if (at < oldest) this.#proxies.delete(proxy);
    return [...this.#proxies].map(([proxy, { facts }]) => [proxy, facts]);
  }
}

/** Pure. */
export function failedReloadWarning(whose: string, { at, error }: NonNullable<ProxyFacts["failed_reload"]>): string {
  return `the last reload of ${whose} failed at ${at}, so that what ran before still runs: ${error}`;
}
