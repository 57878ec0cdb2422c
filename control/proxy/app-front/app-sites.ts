import { isIP } from "node:net";
import { type AppFacts, appFacts } from "../../../core/resources/app-details.ts";
import type { Offered } from "../../../core/resources/offered.ts";

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
  all(): Iterable<{ readonly draining: boolean; readonly ended: boolean; readonly offered: readonly Offered[] }>;
}

export interface AppSitesFacts {
  readonly offers: Offers;
  /** Names of the proxy itself, which no application has. */
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

/** An address counts if all agents that offer the application state it: a host that claims the name cannot lead sessions to an address of its own. */
function collected(tunnels: ReturnType<Offers["all"]>): Known {
  const facts = new Map<string, AppFacts>();
  const addresses = new Map<string, Set<string>>();
  for (const { draining, ended, offered } of tunnels) {
    if (draining || ended) continue;
    for (const one of offered) {
      if (one.kind !== "app") continue;
      const stated = appFacts(one);
      // Agents that disagree about the rest: the first counts, until all state the same.
      const known = facts.get(one.name) ?? stated;
      facts.set(one.name, addressOf(known) === addressOf(stated) ? known : { ...known, publicAddr: undefined });
    }
  }
  for (const [name, stated] of facts) {
    const address = addressOf(stated);
    if (address !== undefined) addresses.set(address, (addresses.get(address) ?? new Set()).add(name));
  }
  return { facts, addresses };
}

function addressOf(facts: AppFacts | undefined): string | undefined {
  return facts?.publicAddr?.toLowerCase();
}
