import { errorText, type PlatformError } from "../../core/errors/platform-error.ts";
import type { Log } from "../../core/log/log.ts";
import type { ClusterProxy } from "../../core/resources/proxy.ts";
import { backOffDelay, failuresAfter } from "../../core/transport/back-off.ts";
import { anyProxy, type WantedTunnel } from "./next-tunnels.ts";

/** Failed attempts after which a proxy is tried rarely, as long as another one is up. */
const patience = 12;
/** Longest wait between attempts from then on, ms. */
const seldomMs = 300_000;
/** Wait between attempts at a round-robin balancer, where each attempt may reach another proxy, ms; more proxies take more attempts. */
const meetingMs = 2_000;
const triesEach = 4;

const stickyHint =
  "a load balancer that always picks the same proxy for this host hides the others: give each proxy its own public_addr, or let it alternate";

interface Tries {
  failures: number;
  /** Time of the caller's clock, ms. */
  notBefore: number;
}

export interface Failure {
  /** Lifetime of the ended tunnel, ms; 0 if there was none. */
  readonly livedMs: number;
  readonly now: number;
  /** This host is reachable through other proxies. */
  readonly hasOthers: boolean;
  /** Another proxy answered, which already has a tunnel. */
  readonly metAnother?: boolean;
}

interface FailedTry {
  readonly id: string;
  /** The address that was tried. */
  readonly at: string;
  readonly now: number;
  readonly log: Log;
}

export interface ProxyTriesOptions {
  /** `host:port` where this host joined: an address of one proxy, or of a load balancer before several. */
  readonly home: string;
  readonly random: () => number;
}

/** Where each proxy is tried next, and when. */
export class ProxyTries {
  readonly #options: ProxyTriesOptions;
  readonly #tries = new Map<string, Tries>([[anyProxy, { failures: 0, notBefore: 0 }]]);
  /** Id → the address at which it was last met, also before it was on a list. */
  readonly #metAt = new Map<string, string>();
  /** Ids of the proxies that have ever been on the list. */
  readonly #listed = new Set<string>();
  #proxies: readonly ClusterProxy[] = [];
  /** Error of the last failed attempt since a tunnel was up; another proxy than the wanted one does not count. */
  problem: PlatformError | undefined;

  constructor(options: ProxyTriesOptions) {
    this.#options = options;
  }

  /** Sets the wanted proxies, out of those on the list. One that is new or has come back is tried at once. */
  want(proxies: readonly ClusterProxy[], listed = proxies): void {
    for (const { id } of listed) this.#listed.add(id);
    const before = new Map(this.#proxies.map((proxy) => [proxy.id, proxy]));
    for (const id of before.keys()) if (!proxies.some((proxy) => proxy.id === id)) this.#tries.delete(id);
    for (const id of this.#metAt.keys()) if (!proxies.some((proxy) => proxy.id === id)) this.#metAt.delete(id);
    for (const { id, since, addr } of proxies) {
      const known = before.get(id);
      if (known?.since === since && known.addr === addr) continue;
      this.#tries.set(id, { failures: 0, notBefore: 0 });
    }
    this.#proxies = proxies;
  }

  /** Whether a tunnel to it is wanted. A proxy that was never on the list may be about to be added. */
  isWanted(id: string): boolean {
    return !this.hasList || this.proxy(id) !== undefined || !this.#listed.has(id);
  }

  get hasList(): boolean {
    return this.#proxies.length > 0;
  }

  get wanted(): readonly WantedTunnel[] {
    const ids = this.hasList ? this.#proxies.map(({ id }) => id) : [anyProxy];
    return ids.map((proxy) => ({ proxy, notBefore: this.#of(proxy).notBefore }));
  }

  proxy(id: string): ClusterProxy | undefined {
    return this.#proxies.find((proxy) => proxy.id === id);
  }

  failures(id: string): number {
    return this.#of(id).failures;
  }

  /**
   * Address to try now. A proxy that was met is mostly tried there; one that was not, alternately at its own address and where this host joined:
   * a load balancer there leads to one proxy after the other.
   */
  address(id: string): string {
    const { home } = this.#options;
    const addr = this.proxy(id)?.addr ?? home;
    const { failures } = this.#of(id);
    const metAt = this.#metAt.get(id);
    const others = [...new Set([addr, home])].filter((address) => address !== metAt);
    if (metAt === undefined) return others[failures % others.length] ?? home;
    if (others.length === 0 || failures % 5 !== 4) return metAt;
    return others[Math.floor(failures / 5) % others.length] ?? metAt;
  }

  met(id: string, address: string): void {
    this.#metAt.set(id, address);
    this.problem = undefined;
  }

  /** Records a failed attempt, or the end of a tunnel. */
  failed(id: string, { livedMs, now, hasOthers, metAnother = false }: Failure): void {
    const tries = this.#tries.get(id) ?? (this.hasList ? undefined : this.#of(anyProxy));
    if (tries === undefined) return;
    tries.failures = failuresAfter(tries.failures, livedMs);
    const isSeldom = hasOthers && tries.failures > this.patience;
    const cap = isSeldom ? { capMs: seldomMs } : metAnother ? { capMs: meetingMs } : {};
    tries.notBefore = now + backOffDelay(tries.failures, this.#options.random(), cap);
  }

  /** Failed attempts after which a proxy is tried rarely. */
  get patience(): number {
    return patience + triesEach * this.#proxies.length;
  }

  /** The last tunnel has ended: no attempt waits for long. */
  hurry(now: number): void {
    for (const tries of this.#tries.values()) tries.notBefore = Math.min(tries.notBefore, now + backOffDelay(4, this.#options.random()));
  }

  logFailure(error: PlatformError, { id, at, now, log }: FailedTry): void {
    const { notBefore = 0 } = this.wanted.find(({ proxy }) => proxy === id) ?? {};
    const retryMs = Math.max(0, Math.round(notBefore - now));
    const cause = error.cause === undefined ? undefined : errorText(error.cause);
    const facts = { proxy: this.proxy(id)?.name, at, code: error.code, error: error.message, hint: error.hint, cause, retryMs };
    // A load balancer may lead to proxies that were met before: that is not a fault until it has happened many times.
    if (error.code !== "conflict") this.problem = error;
    if (error.code !== "conflict") log.warn("no tunnel", facts);
    else if (this.failures(id) === this.patience) log.warn("no tunnel", { ...facts, hint: stickyHint });
    else log.debug("no tunnel", facts);
  }

  #of(id: string): Tries {
    return this.#tries.get(id) ?? { failures: 0, notBefore: 0 };
  }
}
