import { setTimeout as sleep } from "node:timers/promises";
import type { AuthClient } from "../../core/api/auth-client.ts";
import { MovingWatch } from "../../core/api/moving-watch.ts";
import { type ErrorCode, PlatformError, toPlatformError } from "../../core/errors/platform-error.ts";
import type { Log } from "../../core/log/log.ts";
import { writeDocument } from "../../core/resources/document.ts";
import { type HostStatus, hostStatusDocument } from "../../core/resources/host-status.ts";
import type { Labels } from "../../core/resources/metadata.ts";
import { type Offered, OfferedPages } from "../../core/resources/offered.ts";
import { version } from "../../core/versions/version.ts";

/** Contents of a report. */
export interface DirectFacts {
  readonly hostId: string;
  readonly hostname: string;
  readonly labels: Labels;
  readonly services: readonly string[];
  readonly status: HostStatus;
  /** `host:port`, best first. */
  readonly addresses: readonly string[];
  /** Those of them that other hosts may share. */
  readonly shared: readonly string[];
  /** Of services with a port of their own beside that: `host:port`, best first, by kind. */
  readonly served: Readonly<Record<string, readonly string[]>>;
}

export interface FollowAuthOptions {
  readonly log: Log;
  readonly client: () => Promise<Pick<AuthClient, "watchAccess" | "reportNode" | "reportOffered">>;
  readonly facts: () => DirectFacts;
  /** Resources that the services offer now; undefined: no service of this host offers any. */
  readonly offered: () => readonly Offered[] | undefined;
  /** Called when the connection timed out: the next call must open another one. */
  readonly drop: () => void;
  /** Called when it timed out while a watch goes on over the connection before: that one must stay, and the next call open another one. */
  readonly renew: () => void;
  /** Called once for each working watch. */
  readonly onConnected: () => void;
  readonly onAccess: (revision: string) => void;
  readonly onMaintenance: (revision: string) => void;
  readonly onResources: (revision: string) => void;
  /** This process serves the host: false while it waits to replace another one. */
  readonly serves: () => boolean;
  /** Monotonic clock, ms. */
  readonly steady: () => number;
  readonly times?: { readonly firstMs: number; readonly heartbeatMs: number; readonly apartMs: number };
}

const usual = {
  /** Timeout for the first answer to a watch, ms. */
  firstMs: 15_000,
  /** Interval between reports while nothing changes, ms: keeps the connection verified. */
  heartbeatMs: 30_000,
  /** Minimum time between two reports of changes, ms; of several changes in between, the last state is reported. */
  apartMs: 5_000,
} as const;

/** Refusals of offers that stay the same until the list changes, or the auth service has another version; after others, the next report has them again. */
const finalCodes: ReadonlySet<ErrorCode> = new Set(["invalid", "denied", "unsupported"]);

/**
 * A dialled host does for itself what a proxy does for a host with a tunnel: it follows the auth service's watch of roles,
 * locks and authorities, and reports its addresses and what it offers. While the watch lasts, the host counts as connected.
 */
export class FollowAuth {
  readonly #options: FollowAuthOptions;
  readonly #watch: MovingWatch;
  #hasNews = false;
  /** The watch goes on over the connection before until it is answered over the next one. */
  #isMoving = false;
  #problem: PlatformError | undefined;
  #wake = new AbortController();
  /** JSON of the offers that the auth service has; undefined: it must get them. */
  #reported: string | undefined;
  /** Last revision of the cluster's resources; empty: an older auth service does not report it. */
  #resources = "";

  constructor(options: FollowAuthOptions) {
    this.#options = options;
    this.#watch = new MovingWatch({
      watch: (signal, onUp) => this.#follow(signal, onUp),
      onDown: () => this.#down(),
      onRetry: ({ thrown, retryMs }) => this.#retry(thrown, retryMs),
      clock: options.steady,
    });
  }

  get isUp(): boolean {
    return this.#watch.isUp;
  }

  /** The last attempt's error; undefined while it is connected, or before one has failed. */
  get problem(): PlatformError | undefined {
    return this.isUp ? undefined : this.#problem;
  }

  /** Something in the report has changed. */
  tell(): void {
    this.#hasNews = true;
    this.#wake.abort();
  }

  /** Calls go over another connection from now on, and the one before ends soon. */
  moveWatch(): void {
    this.#isMoving = this.isUp;
    this.#watch.move();
  }

  /** Until the signal; connects again with back-off. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener("abort", () => {
      this.#isMoving = false;
    });
    await this.#watch.run(signal);
  }

  /** Otherwise `#retry` logs it, with the reason. */
  #down(): void {
    if (this.#isMoving) this.#options.log.warn("not connected to the auth service: the connection ended before the next one was answered");
    this.#isMoving = false;
  }

  #retry(thrown: unknown, retryMs: number): void {
    const { log, drop, renew } = this.#options;
    this.#problem = toPlatformError(thrown ?? new PlatformError("unavailable", "the auth service ended the watch"));
    const { code, message: error, hint } = this.#problem;
    // A connection whose other end is gone would swallow the next watch too.
    const replace = this.isUp ? renew : drop;
    if (code === "timeout") replace();
    if (this.isUp) {
      log.debug("could not move to another connection yet", { code, error, retryMs });
      return;
    }
    log.warn("not connected to the auth service", { code, error, hint, retryMs });
  }

  /** The host stops: notifies proxies and admins. Never rejects. */
  async sayStopped(): Promise<void> {
    const { log } = this.#options;
    await this.#report("stopped").catch((error: unknown) => log.debug("could not report that this host stops", { error }));
  }

  async #follow(signal: AbortSignal, onUp: () => void): Promise<void> {
    const { client, onAccess, onMaintenance } = this.#options;
    const ended = new AbortController();
    const either = AbortSignal.any([signal, ended.signal]);
    let beating: Promise<void> | undefined;
    let fault: PlatformError | undefined;
    const { firstMs } = this.#options.times ?? usual;
    const late = setTimeout(() => {
      fault = new PlatformError("timeout", `the auth service did not answer within ${firstMs / 1000} s`);
      ended.abort();
    }, firstMs);
    try {
      for await (const event of (await client()).watchAccess({ version }, { signal: either, timeoutMs: 0 })) {
        clearTimeout(late);
        if (beating === undefined) {
          await this.#begin(either, onUp);
          beating = this.#beat(either).catch((error: unknown) => {
            fault = toPlatformError(error);
            ended.abort();
          });
        }
        onAccess(event.revision);
        onMaintenance(event.maintenanceRevision);
        this.#resources = event.resourcesRevision;
        this.#tellResources();
      }
    } catch (thrown) {
      throw fault ?? thrown;
    } finally {
      clearTimeout(late);
      ended.abort();
      await beating;
    }
    if (fault !== undefined) throw fault;
  }

  /** The watch is answered. Throws when it has ended, or the report failed. */
  async #begin(signal: AbortSignal, onUp: () => void): Promise<void> {
    const { log, facts, onConnected } = this.#options;
    this.#reported = undefined;
    await this.#report();
    signal.throwIfAborted();
    if (!this.isUp) log.info("connected to the auth service; proxies dial this host", { addresses: facts().addresses });
    this.#isMoving = false;
    onUp();
    onConnected();
  }

  /** Reports periodically, and soon after a change. */
  async #beat(signal: AbortSignal): Promise<void> {
    const { steady, times = usual } = this.#options;
    let reported = Number.NEGATIVE_INFINITY;
    while (!signal.aborted) {
      this.#wake = new AbortController();
      if (!this.#hasNews) await nap(times.heartbeatMs * (0.75 + Math.random() / 4), AbortSignal.any([signal, this.#wake.signal]));
      await nap(Math.max(0, reported + times.apartMs - steady()), signal);
      if (signal.aborted) return;
      reported = steady();
      await this.#report();
      this.#tellResources();
    }
  }

  /** Also without a change: a revision counts for a while, like that of a proxy. */
  #tellResources(): void {
    if (this.#resources !== "") this.#options.onResources(this.#resources);
  }

  async #report(ending: "" | "stopped" = ""): Promise<void> {
    // Until this process serves, the one before it speaks for the host.
    if (!this.#options.serves()) return;
    this.#hasNews = false;
    const { hostId, hostname, labels, services, status, addresses, shared, served } = this.#options.facts();
    const host = { hostId, hostname, labels: { ...labels }, services: [...services], version, statusJson: writeDocument(hostStatusDocument, status) };
    const serviceAddresses = Object.entries(served).map(([kind, own]) => ({ kind, addresses: [...own] }));
    const where = { directAddresses: [...addresses], publicAddresses: [...shared], serviceAddresses };
    await (await this.#options.client()).reportNode({ ...host, ...where, connected: ending === "", ending });
    if (ending === "") await this.#reportOffered(hostId);
  }

  /** The whole list, when it has changed or the auth service may have lost it. Throws when the connection failed. */
  async #reportOffered(hostId: string): Promise<void> {
    const { log, client } = this.#options;
    const offered = this.#options.offered();
    const json = JSON.stringify(offered);
    if (offered === undefined || json === this.#reported) return;
    const all = offered.map(({ kind, name, labels, details }) => ({ kind, name, labels: { ...labels }, details: { ...details } }));
    const sent = all.slice(0, new OfferedPages().add(all, false)?.length);
    try {
      await (await client()).reportOffered({ hostId, offered: sent });
      if (sent.length < all.length)
        log.warn("this host offers more than it may: users cannot reach the rest", { offered: all.length, sent: sent.length });
    } catch (thrown) {
      const { code, message: error, hint } = toPlatformError(thrown);
      if (code === "unavailable" || code === "timeout") throw thrown;
      log.warn("the auth service does not accept what this host offers: users cannot reach it", { code, error, hint });
      if (!finalCodes.has(code)) return;
    }
    this.#reported = json;
  }
}

async function nap(ms: number, signal: AbortSignal): Promise<void> {
  if (ms > 0) await sleep(ms, undefined, { signal, ref: false }).catch(() => {});
}
