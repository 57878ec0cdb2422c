import { PlatformError } from "../../core/errors/platform-error.ts";
import type { Log } from "../../core/log/log.ts";

/** The part of the spool that events which come in masses may fill. */
const massShare = 0.75;
/** The part that may be held for events to come: however many requests run, what else comes in masses goes on. */
const heldShare = 0.5;
/** Minimum time between two log lines about requests that are refused, ms. */
const tellMs = 60_000;

/** Room for events to come, until it is disposed. */
export class HeldRoom implements Disposable {
  readonly #giveBack: (bytes: number) => void;
  #bytes: number;

  constructor(bytes: number, giveBack: (bytes: number) => void) {
    this.#bytes = bytes;
    this.#giveBack = giveBack;
  }

  /** Uses up to so many bytes of it. Returns how many. */
  use(bytes: number): number {
    const used = Math.min(bytes, this.#bytes);
    this.#bytes -= used;
    return used;
  }

  /** What has not been used. */
  get bytes(): number {
    return this.#bytes;
  }

  [Symbol.dispose](): void {
    this.#giveBack(this.use(this.#bytes));
  }
}

/** Bytes of events on the disk of this host, and how many there may be. */
export class SpoolRoom {
  readonly #maxBytes: number;
  readonly #log: Log;
  #bytes = 0;
  /** Bytes of events to come. */
  #held = 0;
  #isFull = false;
  /** When it was logged that requests are refused, of `performance.now`. */
  #toldAt = Number.NEGATIVE_INFINITY;
  /** Settles when there is more room. */
  #freed: PromiseWithResolvers<void> | undefined;

  constructor(maxBytes: number, log: Log) {
    this.#maxBytes = maxBytes;
    this.#log = log;
  }

  /** Whether events that come in masses have used up their share of the spool. */
  get isCrowded(): boolean {
    return this.#bytes + this.#held >= this.#maxBytes * massShare;
  }

  /** Holds room for events that come in masses; undefined: there is none. */
  hold(bytes: number): HeldRoom | undefined {
    const held = this.#held + bytes;
    if (this.isCrowded || this.#bytes + held > this.#maxBytes * massShare || held > this.#maxBytes * heldShare) return undefined;
    this.#held = held;
    return new HeldRoom(bytes, (unused) => {
      this.#held -= unused;
      this.#wake();
    });
  }

  /** Logs that requests are refused, once in a while. */
  tellCrowded(): void {
    if (performance.now() - this.#toldAt < tellMs) return;
    this.#toldAt = performance.now();
    this.#log.error(
      "too many requests run, or too many audit events wait for the auth service or the disk: requests are refused until there is room",
    );
  }

  /** Takes room for an event, of `held` first. Throws `limit` when the spool is full. */
  take(bytes: number, held?: HeldRoom): void {
    const own = Math.min(bytes, held?.bytes ?? 0);
    const isFull = this.#bytes + this.#held + bytes - own > this.#maxBytes;
    if (isFull !== this.#isFull) {
      this.#isFull = isFull;
      if (isFull) this.#log.error("the audit spool is full: sessions are refused until the auth service accepts events", { bytes: this.#bytes });
      else this.#log.info("the audit spool has room again");
    }
    if (isFull) throw fullError();
    this.#held -= held?.use(own) ?? 0;
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

  /** Waits until a batch has left, or held room is given back, or until this moment (of `performance.now`). Throws `limit` once that is past. */
  async moreRoom(until: number): Promise<void> {
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
