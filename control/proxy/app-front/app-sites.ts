import { isIP } from "node:net";
import { entitledOffers } from "../../../core/access/agreed-offers.ts";
import { isNamed } from "../../../core/access/may-offer.ts";
import { type AppFacts, appFacts } from "../../../core/resources/app-details.ts";
import type { Offered } from "../../../core/resources/offered.ts";
import type { OfferLimits } from "../../../core/resources/token.ts";

/** An application at a host name of its own. */
export interface AppSite {
  /** Name of the application. */
  readonly app: string;
  /** Its host name, in lower case: the only one under which it is served. */
  readonly host: string;
  /** What its agents state; undefined: none that is connected here offers it. */
  readonly facts: AppFacts | undefined;
}

interface Offers {
  /** Changes whenever what `all` yields may have changed. */
  readonly offersRevision: number;
  all(): Iterable<{ readonly draining: boolean; readonly ended: boolean; readonly offered: readonly Offered[]; readonly offerLimits: OfferLimits }>;
}

export interface AppSitesFacts {
  readonly offers: Offers;
  /** Names of the proxy itself: no application is served there. */
  readonly ownNames: readonly string[];
  /** Below it every label is the name of an application, unless the application has another address; undefined: only these are served. */
  readonly domain: string | undefined;
}

/** The domain below which applications get their names: the configured one, or the public host of the proxy. Undefined for an address. Pure. */
export function appsDomain({ appsDomain: own, publicAddr, nodename }: DomainFacts): string | undefined {
  const domain = (own ?? publicAddr?.host ?? nodename).toLowerCase();
  return isIP(domain) > 0 ? undefined : domain;
}

interface DomainFacts {
  readonly appsDomain?: string | undefined;
  readonly publicAddr?: { readonly host: string } | undefined;
  readonly nodename: string;
}

const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

interface Known {
  /** By name of the application. */
  readonly facts: ReadonlyMap<string, AppFacts>;
  /** Public address → applications. */
  readonly addresses: ReadonlyMap<string, ReadonlySet<string>>;
}

/** The host names of applications, as the connected agents state them. */
export class AppSites {
  readonly #options: AppSitesFacts;
  #known: Known = { facts: new Map(), addresses: new Map() };
  #revision = -1;

  constructor(options: AppSitesFacts) {
    this.#options = options;
  }

  /**
   * The application at a host name; undefined for the proxy's own site. A name below the domain never leads to that, so that no page of the proxy appears
   * under the name of an application whose agent is away. An address that two applications claim leads to neither.
   */
  find(servername: string | undefined): AppSite | undefined {
    const { ownNames, domain } = this.#options;
    if (servername === undefined) return undefined;
    const host = servername.toLowerCase().replace(/\.$/, "");
    if (ownNames.includes(host)) return undefined;
    const { facts, addresses } = this.#current();
    const below = domain !== undefined && host.endsWith(`.${domain}`) ? host.slice(0, -domain.length - 1) : undefined;
    const named = below === undefined ? undefined : facts.get(below);
    if (below !== undefined && named !== undefined && isAt(named, host)) return { app: below, host, facts: named };
    const [app, ...others] = addresses.get(host) ?? [];
    if (app !== undefined && others.length === 0) return { app, host, facts: facts.get(app) };
    return below !== undefined && label.test(below) ? { app: below, host, facts: undefined } : undefined;
  }

  /** The host name of an application; undefined without a domain, for one that has no address of its own. */
  hostOf(app: string): string | undefined {
    const { domain } = this.#options;
    return addressOf(this.#current().facts.get(app)) ?? (domain === undefined ? undefined : `${app}.${domain}`);
  }

  #current(): Known {
    const { offers } = this.#options;
    if (this.#revision !== offers.offersRevision) this.#known = collected(offers.all());
    this.#revision = offers.offersRevision;
    return this.#known;
  }
}

/** Whether an application is served at its name below the domain. */
function isAt(facts: AppFacts, host: string): boolean {
  return (addressOf(facts) ?? host) === host;
}

/**
 * An address and rules for other sites count only if all agents that offer the application agree on them: a host that claims the name cannot lead sessions to an
 * address of its own, or open the application to other sites.
 */
function collected(tunnels: ReturnType<Offers["all"]>): Known {
  const offers = new Map<string, { readonly isNamed: boolean; readonly stated: AppFacts }[]>();
  for (const { draining, ended, offered, offerLimits } of tunnels) {
    if (draining || ended) continue;
    for (const one of offered) {
      if (one.kind !== "app") continue;
      const known = offers.get(one.name) ?? [];
      known.push({ isNamed: isNamed(offerLimits, "app"), stated: appFacts(one) });
      offers.set(one.name, known);
    }
  }
  const facts = new Map<string, AppFacts>();
  for (const [name, all] of offers) {
    const [first, ...others] = entitledOffers(all, (one) => one.isNamed).map(({ stated }) => stated);
    if (first !== undefined) facts.set(name, others.reduce(agreed, first));
  }
  const addresses = new Map<string, Set<string>>();
  for (const [name, stated] of facts) {
    const address = addressOf(stated);
    if (address !== undefined) addresses.set(address, (addresses.get(address) ?? new Set()).add(name));
  }
  return { facts, addresses };
}

/** Facts of two agents, without what they disagree about; the first one's scheme counts. Pure. */
function agreed(one: AppFacts, other: AppFacts): AppFacts {
  const isSameAddress = addressOf(one) === addressOf(other);
  const isSameCors = JSON.stringify(one.cors) === JSON.stringify(other.cors);
  return { ...one, publicAddr: isSameAddress ? one.publicAddr : undefined, cors: isSameCors ? one.cors : undefined };
}

function addressOf(facts: AppFacts | undefined): string | undefined {
  return facts?.publicAddr?.toLowerCase();
}
