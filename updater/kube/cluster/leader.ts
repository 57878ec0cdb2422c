import { setTimeout as sleep } from "node:timers/promises";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import { decideLease, type LeaseObject, renewDeadlineMs, retryMs, type SeenLease } from "./lease.ts";

export interface LeaderOptions {
  readonly lease: LeaseObject;
  /** This controller's name, unlike any other's. */
  readonly me: string;
  readonly log: Log;
  readonly clock: { readonly wall: () => Date; readonly steady: () => number };
  /** Called after each exchange with the API server: whether it answered. */
  readonly heard: (answered: boolean) => void;
}

/** A text that the controllers keep in their lease, from one to the next. */
export interface LeaseNote {
  text: string;
}

/**
 * This controller's part in the election. It holds the lease while its last renewal began less than ten seconds ago; others may take it after fifteen.
 * The lease is a hint all the same: each write to the workload is tied to what was read before (`KubeCluster.change`).
 */
export class Leader {
  /** What the lease carries from one holder to the next; a new text is written with the next renewal. */
  readonly note: LeaseNote = { text: "" };
  readonly #options: LeaderOptions;
  #seen: SeenLease = { lease: undefined, since: 0 };
  #renewed = Number.NEGATIVE_INFINITY;
  #isStopping = false;
  #changed = Promise.withResolvers<void>();
  #term: AbortController | undefined;

  constructor(options: LeaderOptions) {
    this.#options = options;
  }

  /** Whether this controller may act. */
  get holds(): boolean {
    return !this.#isStopping && this.#options.clock.steady() - this.#renewed < renewDeadlineMs;
  }

  /** Throws `conflict` when this controller may not act any more. */
  demand(): void {
    if (!this.holds) throw new PlatformError("conflict", "this controller does not hold the lease any more");
  }

  /** Resolves when it begins to hold the lease, to a signal that is aborted when it does not any more. */
  async elected(signal: AbortSignal): Promise<AbortSignal> {
    for (;;) {
      signal.throwIfAborted();
      if (this.#term !== undefined && this.holds) return this.#term.signal;
      const stopped = Promise.withResolvers<void>();
      const stop = (): void => stopped.resolve();
      signal.addEventListener("abort", stop, { once: true });
      await Promise.race([this.#changed.promise, stopped.promise]);
      signal.removeEventListener("abort", stop);
    }
  }

  /** Takes part until aborted, then releases the lease. Never throws. */
  async run(signal: AbortSignal, random: () => number = Math.random): Promise<void> {
    while (!signal.aborted) {
      await this.step(signal);
      await sleep(retryMs * (0.9 + random() / 5), undefined, { signal }).catch(() => {});
    }
    await this.#release();
  }

  /** One exchange. Never throws. */
  async step(signal: AbortSignal): Promise<void> {
    const { lease, me, clock, log, heard } = this.#options;
    const began = clock.steady();
    try {
      this.#see(await lease.read(signal), began);
      const act = decideLease(this.#seen, { me, now: clock.steady() });
      if (act !== "wait") {
        this.#see(await lease.write(this.#seen.lease, { holder: me, note: this.note.text, now: clock.wall(), signal }), clock.steady());
        this.#renewed = began;
      }
      heard(true);
    } catch (thrown) {
      const answered = thrown instanceof PlatformError && (thrown.code === "conflict" || thrown.code === "denied");
      heard(answered);
      if (!signal.aborted && !(thrown instanceof PlatformError && thrown.code === "conflict"))
        log.warn("could not exchange the lease", { error: errorText(thrown) });
    }
    this.#announce();
  }

  #see(lease: SeenLease["lease"], now: number): void {
    if (lease?.resourceVersion === this.#seen.lease?.resourceVersion) return;
    this.#seen = { lease, since: now };
    if (lease?.holder === this.#options.me) return;
    // Another one holds it: at once, whatever the time of the last renewal.
    this.#renewed = Number.NEGATIVE_INFINITY;
    if (lease !== undefined) this.note.text = lease.note;
  }

  #announce(): void {
    const { log, me } = this.#options;
    if (this.holds === (this.#term !== undefined)) return;
    if (this.holds) {
      this.#term = new AbortController();
      log.info("became the leader", { identity: me });
    } else {
      this.#term?.abort(new PlatformError("conflict", "this controller does not hold the lease any more"));
      this.#term = undefined;
      log.warn("is not the leader any more", { identity: me });
    }
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  /** So that another controller need not wait for the lease to run out. Best effort, within two seconds. */
  async #release(): Promise<void> {
    const { lease, me, clock } = this.#options;
    const holds = this.holds && this.#seen.lease?.holder === me;
    this.#isStopping = true;
    this.#announce();
    if (!holds) return;
    const released = { holder: "", note: this.note.text, now: clock.wall(), signal: AbortSignal.timeout(2_000) };
    await lease.write(this.#seen.lease, released).catch(() => {});
  }
}
