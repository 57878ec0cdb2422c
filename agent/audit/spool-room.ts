import { PlatformError } from "../../core/errors/platform-error.ts";
import type { Log } from "../../core/log/log.ts";

/** The part of the spool that events which come in masses may fill. */
const massShare = 0.75;
/** Minimum time between two log lines about requests that are refused, ms. */
const tellMs = 60_000;

/** Bytes of events on the disk of this host, and how many there may be. */
export class SpoolRoom {
  readonly #maxBytes: number;
  readonly #log: Log;
  #bytes = 0;
  #isFull = false;
  /** When it was logged that requests are refused, of `performance.now`. */
  #toldAt = Number.NEGATIVE_INFINITY;
  /** Settles when a batch has left. */
  #freed: PromiseWithResolvers<void> | undefined;

  constructor(maxBytes: number, log: Log) {
    this.#maxBytes = maxBytes;
    this.#log = log;
  }

  /** Whether events that come in masses have used up their share of the spool. */
  get isCrowded(): boolean {
    return this.#bytes >= this.#maxBytes * massShare;
  }

  /** Logs that requests are refused, once in a while. */
  tellCrowded(): void {
    if (performance.now() - this.#toldAt < tellMs) return;
    this.#toldAt = performance.now();
    this.#log.error("too many audit events wait for the auth service, or for the disk: requests are refused until there is room");
  }

  /** Takes room for an event. Throws `limit` when the spool is full. */
  take(bytes: number): void {
    const isFull = this.#bytes + bytes > this.#maxBytes;
    if (isFull !== this.#isFull) {
      this.#isFull = isFull;
      if (isFull) this.#log.error("the audit spool is full: sessions are refused until the auth service accepts events", { bytes: this.#bytes });
      else this.#log.info("the audit spool has room again");
    }
    if (isFull) throw fullError();
    this.#bytes += bytes;
  }

  /** Counts events that are there already, however many. */
  add(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Events have not been written. */
  giveBack(bytes: number): void {
    this.#bytes -= bytes;
  }

  /** A batch has left. */
  free(bytes: number): void {
    this.#bytes = Math.max(0, this.#bytes - bytes);
    this.#wake();
  }

  /** Waits until a batch has left, or until this moment (of `performance.now`). Throws `limit` once that is past. */
  async batchLeft(until: number): Promise<void> {
    const limitMs = until - performance.now();
    if (limitMs <= 0) throw fullError();
    this.#freed ??= Promise.withResolvers();
    const timer = setTimeout(this.#wake, limitMs);
    await this.#freed.promise;
    clearTimeout(timer);
  }

  readonly #wake = (): void => {
    const freed = this.#freed;
    this.#freed = undefined;
    freed?.resolve();
  };
}

function fullError(): PlatformError {
  return new PlatformError("limit", "this host cannot record sessions right now: too many audit events are waiting for the auth service");
}
