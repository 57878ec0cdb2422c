import type { Duplex } from "node:stream";
import { PlatformError, toPlatformError } from "../../core/errors/platform-error.ts";
import type { Log } from "../../core/log/log.ts";
import type { HostStatus } from "../../core/resources/host-status.ts";
import type { Labels } from "../../core/resources/metadata.ts";
import type { Offered } from "../../core/resources/offered.ts";
import type { ClusterProxy } from "../../core/resources/proxy.ts";
import type { Reach } from "../reach.ts";
import { anyProxy, chooseProxies, nextTunnels } from "./next-tunnels.ts";
import type { OpenedTunnel, TunnelWay } from "./open-tunnel.ts";
import { ProxyTries } from "./proxy-tries.ts";
import { type Clock, Tunnel } from "./tunnel.ts";

export interface TunnelsOptions {
  readonly hostId: string;
  /** `host:port` where this host joined. */
  readonly home: string;
  /** The list of proxies of the last run; used when nothing answers where this host joined. */
  readonly remembered: readonly ClusterProxy[];
  readonly log: Log;
  readonly clock: Clock;
  readonly random?: () => number;
  /** Opens a tunnel; the signal ends it at any time. */
  readonly open: (way: TunnelWay, onStream: (channel: Duplex) => void, signal: AbortSignal) => Promise<OpenedTunnel>;
  /** Serves one stream until it ends. Never throws. */
  readonly serve: (channel: Duplex) => Promise<void>;
  readonly onAccess: (revision: string) => void;
  readonly onMaintenance: (revision: string) => void;
  readonly onAuthorities: (digest: string) => void;
  readonly onProxies: (revision: string) => void;
  readonly onResources: (revision: string) => void;
  /** The host's current status. */
  readonly status: () => HostStatus;
  readonly labels: () => Labels;
  /** Resources that the services currently offer. */
  /** Undefined: no service of this host offers any. */
  readonly offered: () => readonly Offered[] | undefined;
}

interface Entry {
  readonly id: number;
  readonly abort: AbortController;
  state: "opening" | "up" | "leaving";
  streams: number;
  keepUntil: number;
  /** Id of the proxy for which it is opened. */
  readonly aim: string;
  /** Id of its proxy, once known. */
  proxy?: string;
  tunnel?: Tunnel;
}

/** Time that a tunnel stays after its proxy begins to stop, ms: clients in the middle of their handshake still use it. */
const lingerMs = 20_000;

/** Keeps a tunnel to every proxy up until it is stopped. Effects of the decision in next-tunnels.ts. */
export class Tunnels implements Reach {
  readonly #options: TunnelsOptions;
  readonly #entries = new Map<number, Entry>();
  readonly #idle = Promise.withResolvers<void>();
  readonly #tries: ProxyTries;
  #nextId = 1;
  #stopping = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: TunnelsOptions) {
    this.#options = options;
    const { home, random = Math.random } = options;
    this.#tries = new ProxyTries({ home, random });
    this.#step();
  }

  /** Sets the proxies of the cluster. A tunnel to one that is gone from the list ends with its streams. */
  follow(proxies: readonly ClusterProxy[]): void {
    this.#tries.want(chooseProxies(proxies, this.#options.hostId), proxies);
    for (const entry of this.#entries.values()) {
      if (entry.state !== "up" || entry.proxy === undefined || this.#tries.isWanted(entry.proxy)) continue;
      this.#options.log.info("this proxy is no longer part of the cluster: its tunnel ends", { tunnel: entry.id, proxy: entry.proxy });
      entry.tunnel?.announceDraining();
      entry.state = "leaving";
      entry.keepUntil = Number.POSITIVE_INFINITY;
    }
    this.#step();
  }

  /** A byte stream to the auth service, or `undefined` when no tunnel is up. */
  openAuth(): Promise<Duplex> | undefined {
    const entries = [...this.#entries.values()];
    const best = entries.find(({ state }) => state === "up") ?? entries.find(({ tunnel }) => tunnel !== undefined);
    return best?.tunnel?.openAuth();
  }

  /** Sends the host's current status to the proxies. */
  tell(): void {
    const [status, labels] = [this.#options.status(), this.#options.labels()];
    const offered = this.#options.offered();
    for (const { tunnel } of this.#entries.values()) {
      tunnel?.tell(status, labels);
      if (offered !== undefined) tunnel?.offer(offered);
    }
  }

  /** Tunnels that still carry new streams; a leaving one does so until the next one is up. */
  get tunnels(): number {
    return this.#stopping ? 0 : [...this.#entries.values()].filter(({ tunnel }) => tunnel !== undefined).length;
  }

  get isConnected(): boolean {
    return this.tunnels > 0;
  }

  get problem(): PlatformError | undefined {
    return this.isConnected ? undefined : this.#tries.problem;
  }

  /**
   * Another process serves this host from now on: notifies the proxies, serves streams that they opened before they knew, lets streams
   * end, and resolves when all tunnels have ended.
   */
  retire(): Promise<void> {
    this.#leave(Number.POSITIVE_INFINITY);
    return this.#idle.promise;
  }

  /** Notifies the proxies, lets streams end, and resolves when all tunnels have ended; `force` ends them now. */
  stop(force: AbortSignal): Promise<void> {
    this.#leave(0);
    const endAll = (): void => {
      for (const { abort, tunnel } of this.#entries.values()) {
        tunnel?.end("the agent is stopping");
        abort.abort();
      }
    };
    if (force.aborted) endAll();
    else force.addEventListener("abort", endAll, { once: true });
    return this.#idle.promise;
  }

  #leave(keepUntil: number): void {
    this.#stopping = true;
    for (const entry of this.#entries.values()) {
      if (entry.tunnel === undefined) entry.abort.abort();
      else entry.tunnel.announceDraining();
      entry.state = "leaving";
      entry.keepUntil = keepUntil;
    }
    this.#step();
  }

  #step(): void {
    clearTimeout(this.#timer);
    const now = this.#options.clock.steady();
    const tunnels = [...this.#entries.values()];
    const facts = tunnels.map(({ id, state, streams, keepUntil, aim, proxy = aim }) => ({ id, state, streams, keepUntil, proxy }));
    const next = nextTunnels({ wanted: this.#tries.wanted, tunnels: facts, stopping: this.#stopping, now });
    for (const id of next.end) this.#entries.get(id)?.tunnel?.end("no longer needed");
    for (const proxy of next.open) void this.#open(proxy);
    if (next.wakeAt !== undefined) this.#timer = setTimeout(() => this.#step(), Math.max(1, next.wakeAt - now));
    if (this.#stopping && this.#entries.size === 0) this.#idle.resolve();
  }

  async #open(aim: string): Promise<void> {
    const { open, clock, log } = this.#options;
    const entry: Entry = { id: this.#nextId, abort: new AbortController(), state: "opening", streams: 0, keepUntil: 0, aim };
    this.#nextId += 1;
    this.#entries.set(entry.id, entry);
    const at = this.#tries.address(aim);
    try {
      const opened = await open({ at, claim: (id) => this.#claim(entry, id) }, (channel) => void this.#serve(entry, channel), entry.abort.signal);
      this.#adopt(entry, { opened, at });
    } catch (thrown) {
      this.#entries.delete(entry.id);
      const error = toPlatformError(thrown);
      this.#postpone(aim, 0, error.code === "conflict");
      if (!this.#stopping) this.#tries.logFailure(error, { id: aim, at, now: clock.steady(), log });
      if (aim === anyProxy && !this.#tries.hasList && this.#options.remembered.length > 0) this.follow(this.#options.remembered);
      else this.#step();
    }
  }

  /** Behind one address there may be several proxies: each gets one tunnel. */
  #claim(entry: Entry, proxyId: string): void {
    const others = [...this.#entries.values()].filter((other) => other !== entry && other.state !== "leaving");
    if (others.some(({ proxy }) => proxy === proxyId)) throw new PlatformError("conflict", "this address leads to a proxy that has a tunnel already");
    if (!this.#tries.isWanted(proxyId)) throw new PlatformError("conflict", "this address leads to a proxy to which no tunnel is wanted");
    entry.proxy = proxyId;
  }

  #adopt(entry: Entry, { opened, at }: { opened: OpenedTunnel; at: string }): void {
    const { log, clock, onAccess, onMaintenance, onAuthorities, onProxies, onResources } = this.#options;
    const { notice, proxyId: announced } = opened.welcome;
    // The id in its certificate counts: no proxy can take another's place.
    const proxyId = entry.proxy ?? announced;
    entry.proxy = proxyId;
    if (entry.state === "opening") entry.state = "up";
    this.#tries.met(proxyId, at);
    log.info("tunnel is up", { tunnel: entry.id, proxy: proxyId, name: this.#tries.proxy(proxyId)?.name });
    if (notice !== undefined) log.warn(`the proxy says: ${notice}`);
    const onEnd = (): void => {
      this.#entries.delete(entry.id);
      entry.abort.abort();
      if (entry.state === "up") this.#postpone(proxyId, clock.steady() - tunnel.openedAt);
      if (!this.#hasOthers(entry)) this.#tries.hurry(clock.steady());
      this.#step();
    };
    const onDrain = (): void => {
      if (entry.state !== "up") return;
      log.info("the proxy is stopping: opening the next tunnel", { tunnel: entry.id });
      entry.state = "leaving";
      entry.keepUntil = clock.steady() + lingerMs;
      this.#postpone(proxyId, clock.steady() - tunnel.openedAt);
      this.#step();
    };
    const onDraining = (): void => {
      entry.keepUntil = 0;
      this.#step();
    };
    // The end of a tunnel is reported in a later turn than its creation, except for one that is dead on arrival.
    const later = (act: () => void) => () => queueMicrotask(act);
    const tunnel: Tunnel = new Tunnel(opened, {
      log: log.with({ tunnel: entry.id }),
      clock,
      events: { onAccess, onMaintenance, onAuthorities, onProxies, onResources, onDrain: later(onDrain), onEnd: later(onEnd), onDraining },
    });
    entry.tunnel = tunnel;
    tunnel.tell(this.#options.status(), this.#options.labels());
    const offered = this.#options.offered();
    if (offered !== undefined) tunnel.offer(offered);
    if (this.#stopping) tunnel.end("the agent is stopping");
  }

  async #serve(entry: Entry, channel: Duplex): Promise<void> {
    entry.streams += 1;
    await this.#options.serve(channel);
    entry.streams -= 1;
    this.#step();
  }

  /** The next try waits: full jitter, shorter when the last tunnel lived long. */
  #postpone(proxy: string, livedMs: number, metAnother = false): void {
    this.#tries.failed(proxy, { livedMs, now: this.#options.clock.steady(), hasOthers: this.#hasOthers(), metAnother });
  }

  #hasOthers(than?: Entry): boolean {
    return [...this.#entries.values()].some((entry) => entry !== than && entry.state === "up");
  }
}
