import type { Duplex } from "node:stream";
import { errorText, type PlatformError, toPlatformError } from "../core/errors/platform-error.ts";
import type { Log } from "../core/log/log.ts";
import type { HostStatus } from "../core/resources/host-status.ts";
import type { Labels } from "../core/resources/metadata.ts";
import { backOffDelay, failuresAfter } from "../core/transport/back-off.ts";
import { nextTunnels } from "./next-tunnels.ts";
import type { OpenedTunnel } from "./open-tunnel.ts";
import type { Reach } from "./reach.ts";
import { type Clock, Tunnel } from "./tunnel.ts";

export interface TunnelsOptions {
  readonly log: Log;
  readonly clock: Clock;
  readonly random?: () => number;
  /** Finds the proxy and opens one; the signal ends it at any time. */
  readonly open: (onStream: (channel: Duplex) => void, signal: AbortSignal) => Promise<OpenedTunnel>;
  /** Serves one stream to its end. Never throws. */
  readonly serve: (channel: Duplex) => Promise<void>;
  readonly onAccess: (revision: string) => void;
  readonly onMaintenance: (revision: string) => void;
  readonly onAuthorities: (digest: string) => void;
  /** What the host says of itself now. */
  readonly status: () => HostStatus;
  readonly labels: () => Labels;
}

interface Entry {
  readonly id: number;
  readonly abort: AbortController;
  state: "opening" | "up" | "leaving";
  streams: number;
  keepUntil: number;
  tunnel?: Tunnel;
}

/** How long a tunnel whose proxy is stopping stays, ms: clients in the middle of their handshake still come through it. */
const lingerMs = 20_000;
/** How many proxies to be connected to. */
const wantedTunnels = 1;

/** Keeps the wanted tunnels up until it is stopped. Effects of the decision in next-tunnels.ts. */
export class Tunnels implements Reach {
  readonly #options: TunnelsOptions;
  readonly #entries = new Map<number, Entry>();
  readonly #idle = Promise.withResolvers<void>();
  #nextId = 1;
  #failures = 0;
  #notBefore = 0;
  #stopping = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: TunnelsOptions) {
    this.#options = options;
    this.#step();
  }

  /** A byte stream to the auth service, or `undefined` when no tunnel is up. */
  openAuth(): Promise<Duplex> | undefined {
    const entries = [...this.#entries.values()];
    const best = entries.find(({ state }) => state === "up") ?? entries.find(({ tunnel }) => tunnel !== undefined);
    return best?.tunnel?.openAuth();
  }

  /** Tells the proxies what the host says of itself now. */
  tell(): void {
    const [status, labels] = [this.#options.status(), this.#options.labels()];
    for (const { tunnel } of this.#entries.values()) tunnel?.tell(status, labels);
  }

  /** Tunnels through which streams still come; one that leaves does so until the next one is up. */
  get tunnels(): number {
    return this.#stopping ? 0 : [...this.#entries.values()].filter(({ tunnel }) => tunnel !== undefined).length;
  }

  get isConnected(): boolean {
    return this.tunnels > 0;
  }

  /**
   * Another process serves this host from now on: tells the proxies, serves what they opened before they knew, lets streams
   * end, and resolves when all tunnels have ended.
   */
  retire(): Promise<void> {
    this.#leave(Number.POSITIVE_INFINITY);
    return this.#idle.promise;
  }

  /** Tells the proxies, lets streams end, and resolves when all tunnels have ended; `force` ends them now. */
  stop(force: AbortSignal): Promise<void> {
    this.#leave(0);
    const endAll = (): void => {
      for (const { abort, tunnel } of this.#entries.values()) {
        tunnel?.end("the agent stops");
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
    const next = nextTunnels({ wanted: wantedTunnels, tunnels, stopping: this.#stopping, notBefore: this.#notBefore, now });
    for (const id of next.end) this.#entries.get(id)?.tunnel?.end("not needed any more");
    for (let count = 0; count < next.open; count += 1) void this.#open();
    if (next.wakeAt !== undefined) this.#timer = setTimeout(() => this.#step(), Math.max(1, next.wakeAt - now));
    if (this.#stopping && this.#entries.size === 0) this.#idle.resolve();
  }

  async #open(): Promise<void> {
    const { log, open } = this.#options;
    const entry: Entry = { id: this.#nextId, abort: new AbortController(), state: "opening", streams: 0, keepUntil: 0 };
    this.#nextId += 1;
    this.#entries.set(entry.id, entry);
    try {
      const opened = await open((channel) => void this.#serve(entry, channel), entry.abort.signal);
      this.#adopt(entry, opened);
    } catch (thrown) {
      this.#entries.delete(entry.id);
      this.#postpone(0);
      if (!this.#stopping) this.#logFailure(log, toPlatformError(thrown));
      this.#step();
    }
  }

  #adopt(entry: Entry, opened: OpenedTunnel): void {
    const { log, clock, onAccess, onMaintenance, onAuthorities } = this.#options;
    if (entry.state === "opening") entry.state = "up";
    log.info("tunnel is up", { tunnel: entry.id, proxy: opened.welcome.proxyId });
    const { notice } = opened.welcome;
    if (notice !== undefined) log.warn(`the proxy says: ${notice}`);
    const onEnd = (): void => {
      this.#entries.delete(entry.id);
      entry.abort.abort();
      if (entry.state === "up") this.#postpone(clock.steady() - tunnel.openedAt);
      this.#step();
    };
    const onDrain = (): void => {
      if (entry.state !== "up") return;
      log.info("the proxy is stopping: opening the next tunnel", { tunnel: entry.id });
      entry.state = "leaving";
      entry.keepUntil = clock.steady() + lingerMs;
      this.#postpone(clock.steady() - tunnel.openedAt);
      this.#step();
    };
    const onDraining = (): void => {
      entry.keepUntil = 0;
      this.#step();
    };
    // Ends of a tunnel are told in a later turn than its making at the earliest, except for one that is dead on arrival.
    const later = (act: () => void) => () => queueMicrotask(act);
    const tunnel: Tunnel = new Tunnel(opened, {
      log: log.with({ tunnel: entry.id }),
      clock,
      events: { onAccess, onMaintenance, onAuthorities, onDrain: later(onDrain), onEnd: later(onEnd), onDraining },
    });
    entry.tunnel = tunnel;
    tunnel.tell(this.#options.status(), this.#options.labels());
    if (this.#stopping) tunnel.end("the agent stops");
  }

  async #serve(entry: Entry, channel: Duplex): Promise<void> {
    entry.streams += 1;
    await this.#options.serve(channel);
    entry.streams -= 1;
    this.#step();
  }

  /** The next try waits: full jitter, less when the last tunnel lived long. */
  #postpone(livedMs: number): void {
    const { clock, random = Math.random } = this.#options;
    this.#failures = failuresAfter(this.#failures, livedMs);
    this.#notBefore = clock.steady() + backOffDelay(this.#failures, random());
  }

  #logFailure(log: Log, error: PlatformError): void {
    const retryMs = Math.max(0, Math.round(this.#notBefore - this.#options.clock.steady()));
    const cause = error.cause === undefined ? undefined : errorText(error.cause);
    log.warn("no tunnel", { code: error.code, error: error.message, hint: error.hint, cause, retryMs });
  }
}
