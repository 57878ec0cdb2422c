import { expiryWarning, type ProxyFacts, validityOf, type WebCertificate } from "../../../core/resources/proxy-facts.ts";

/** Age after which a proxy's report is ignored, ms; it reports every minute. */
const rememberedMs = 180_000;
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
    const oldest = this.#now().getTime() - rememberedMs;
    for (const [proxy, { at }] of this.#proxies) if (at < oldest) this.#proxies.delete(proxy);
    return [...this.#proxies].map(([proxy, { facts }]) => [proxy, facts]);
  }
}

/** Pure. */
export function failedReloadWarning(whose: string, { at, error }: NonNullable<ProxyFacts["failed_reload"]>): string {
  return `the last reload of ${whose} failed at ${at}, so that what ran before still runs: ${error}`;
}
