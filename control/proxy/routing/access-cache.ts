import type { AuthClient } from "../../../core/api/auth-client.ts";
import { MovingWatch } from "../../../core/api/moving-watch.ts";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import type { UserIdentity } from "../../../core/identity/identity.ts";
import { serviceNames } from "../../../core/kinds/service-kinds.ts";
import type { Log } from "../../../core/log/log.ts";
import { version } from "../../../core/versions/version.ts";
import { type Access, readAccess } from "./read-access.ts";

export interface AccessCacheOptions {
  readonly auth: AuthClient;
  readonly log: Log;
  /** Monotonic milliseconds. */
  readonly clock?: () => number;
}

/** How long an answer is used without confirmation by the auth service, ms. */
const freshMs = 30_000;

/**
 * The proxy's facts for decisions. It follows the auth service's watch; without a live watch each answer is at most 30 s old.
 * A failed lookup throws, so that the caller denies access.
 */
export class AccessCache {
  readonly #options: AccessCacheOptions;
  readonly #clock: () => number;
  #access: Access | undefined;
  #confirmedAt = Number.NEGATIVE_INFINITY;
  #maintenance: string | undefined;
  #proxies: string | undefined;
  #resources: string | undefined;
  #fetching: Promise<Access> | undefined;
  #watching: MovingWatch | undefined;
  readonly #onRevision: ((revision: string) => void)[] = [];
  readonly #onAccess: ((access: Access) => void)[] = [];
  readonly #onRemoved: ((hosts: readonly string[]) => void)[] = [];
  readonly #onConnected: (() => void)[] = [];
  readonly #onProxies: (() => void)[] = [];
  readonly #onResources: (() => void)[] = [];

  constructor(options: AccessCacheOptions) {
    this.#options = options;
    this.#clock = options.clock ?? (() => performance.now());
  }

  /** Empty until the first answer. */
  get revision(): string {
    return this.#access?.revision ?? "";
  }

  /** Digest of the authorities for tunnels; undefined until the first answer. */
  get authorities(): string | undefined {
    return this.#access?.authorities;
  }

  /** Revision of the maintenance configuration, empty when there is none; undefined while the auth service is unreachable. */
  get maintenanceRevision(): string | undefined {
    return this.#clock() - this.#confirmedAt < freshMs ? this.#maintenance : undefined;
  }

  /** Revision of the list of proxies; undefined until the auth service has sent one. */
  get proxiesRevision(): string | undefined {
    return this.#proxies;
  }

  /** Revision of the resources that agents offer; undefined until the auth service has sent one, and without a watch. */
  get resourcesRevision(): string | undefined {
    return this.#resources;
  }

  /** Called when one of the resources that agents offer has changed. */
  onResources(listener: () => void): void {
    this.#onResources.push(listener);
  }

  /** Called when a proxy has joined, come back or gone. */
  onProxies(listener: () => void): void {
    this.#onProxies.push(listener);
  }

  onRevision(listener: (revision: string) => void): void {
    this.#onRevision.push(listener);
  }

  /** Called with every changed answer. */
  onAccess(listener: (access: Access) => void): void {
    this.#onAccess.push(listener);
  }

  /** Hosts that an admin removed: their tunnels end. */
  onRemoved(listener: (hosts: readonly string[]) => void): void {
    this.#onRemoved.push(listener);
  }

  /** The watch works (again): the auth service may have lost earlier reports. */
  onConnected(listener: () => void): void {
    this.#onConnected.push(listener);
  }

  /** Throws PlatformError (`unavailable`, `timeout`, …) when there is no recent answer. */
  async current(): Promise<Access> {
    if (this.#access !== undefined && this.#clock() - this.#confirmedAt < freshMs) return this.#access;
    return await this.#fetch();
  }

  /** The facts for a decision about a user. Also throws `denied` for a holder of a role that this version cannot read: it may hold the rule that denies. */
  async forUser({ roles }: Pick<UserIdentity, "roles">): Promise<Access> {
    const access = await this.current();
    const role = roles.find((name) => access.unreadable.includes(name));
    if (role === undefined) return access;
    throw new PlatformError("denied", `access denied: this version of the proxy cannot read role ${role}`, {
      hint: "upgrade the proxy, or write the role without what this version does not know",
    });
  }

  /** Follows the auth service until the signal; reconnects with back-off. Reports this proxy's public address to it. Never rejects. */
  async run(signal: AbortSignal, publicAddr = ""): Promise<void> {
    const { log } = this.#options;
    const onDown = (): void => {
      this.#maintenance = undefined;
      // Agents that hear nothing of the resources ask for them.
      this.#resources = undefined;
    };
    const onRetry = ({ thrown }: { readonly thrown: unknown }): void => {
      if (thrown !== undefined) log.warn("lost the auth service's watch", { error: errorText(thrown) });
    };
    this.#watching = new MovingWatch({ watch: (end, onUp) => this.#watch(end, { publicAddr, onUp }), onDown, onRetry, clock: this.#clock });
    await this.#watching.run(signal);
  }

  /** The connection is about to be replaced: begins another watch before that one ends, so that the auth service takes none of this proxy's hosts for gone. */
  moveWatch(): void {
    this.#watching?.move();
  }

  async #watch(signal: AbortSignal, { publicAddr, onUp }: { readonly publicAddr: string; readonly onUp: () => void }): Promise<void> {
    const ended = new AbortController();
    const either = AbortSignal.any([signal, ended.signal]);
    const confirming = setInterval(() => void this.#fetch().catch(() => ended.abort()), freshMs / 2);
    try {
      let first = true;
      for await (const event of this.#options.auth.watchAccess({ publicAddr, version }, { signal: either, timeoutMs: 0 })) {
        if (event.revision !== this.revision) await this.#fetch();
        if (either.aborted) break;
        this.#maintenance = event.maintenanceRevision;
        this.#hearProxies(event.proxiesRevision);
        this.#hearResources(event.resourcesRevision);
        if (first) onUp();
        this.#tell(event.removedHosts, first);
        first = false;
      }
    } finally {
      clearInterval(confirming);
      ended.abort();
    }
  }

  #hearProxies(revision: string): void {
    if (revision === "" || revision === this.#proxies) return;
    this.#proxies = revision;
    for (const listener of this.#onProxies) listener();
  }

  #hearResources(revision: string): void {
    if (revision === "" || revision === this.#resources) return;
    this.#resources = revision;
    for (const listener of this.#onResources) listener();
  }

  #tell(removedHosts: readonly string[], connected: boolean): void {
    if (removedHosts.length > 0) for (const listener of this.#onRemoved) listener(removedHosts);
    if (connected) for (const listener of this.#onConnected) listener();
  }

  #fetch(): Promise<Access> {
    this.#fetching ??= this.#ask().finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  async #ask(): Promise<Access> {
    const asked = this.#clock();
    const answer = await this.#options.auth.getAccess({ kinds: [...serviceNames] });
    const access = readAccess(answer, { log: this.#options.log, before: this.#access });
    const changed = access.revision !== this.#access?.revision;
    this.#access = access;
    this.#confirmedAt = asked;
    if (changed) {
      for (const listener of this.#onRevision) listener(access.revision);
      for (const listener of this.#onAccess) listener(access);
    }
    return access;
  }
}

/** Revisions of the auth service's state for agents: they fetch what they do not have. */
export interface AccessRevisions {
  readonly accessRevision: string;
  /** Left out while unknown to this proxy. */
  readonly authorities?: string;
  readonly proxies?: string;
  readonly resources?: string;
}

export function accessRevisions({ revision, authorities, proxiesRevision: proxies, resourcesRevision: resources }: AccessCache): AccessRevisions {
  const known = { ...(authorities !== undefined && { authorities }), ...(proxies !== undefined && { proxies }) };
  return { accessRevision: revision, ...known, ...(resources !== undefined && { resources }) };
}
