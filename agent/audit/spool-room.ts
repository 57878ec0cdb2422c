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

/** Something that waits for room. */
interface Waiter {
  /** Its place among all that wait. */
  readonly place: number;
  readonly fits: () => boolean;
  readonly go: () => void;
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
  /** Those that wait, first come first served: for room to hold, and for room for an event. */
  readonly #lines = { holds: new Set<Waiter>(), events: new Set<Waiter>() };
  #places = 0;

  constructor(maxBytes: number, log: Log) {
    this.#maxBytes = maxBytes;
    this.#log = log;
  }

  /** Whether events that come in masses have used up their share of the spool. */
  get #isCrowded(): boolean {
    return this.#bytes + this.#held >= this.#maxBytes * massShare;
  }

  /** Holds room for events that come in masses, now or within this time (ms), while `mayHold`; undefined: there is none. Never rejects. */
  async hold(bytes: number, waitMs: number, mayHold: () => boolean): Promise<HeldRoom | undefined> {
    const fits = (): boolean => {
      const held = this.#held + bytes;
      const [ofMasses, ofHeld] = [this.#maxBytes * massShare, this.#maxBytes * heldShare];
      return mayHold() && this.#bytes + held <= ofMasses && held <= ofHeld && !this.#isCrowded;
    };
    const take = (): HeldRoom => {
      this.#held += bytes;
      return new HeldRoom(bytes, (unused) => {
        this.#held -= unused;
        this.#wake();
      });
    };
    return await this.#inTurn(this.#lines.holds, waitMs, { fits, take });
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

  /** Takes room for an event that comes in masses, as `take` does, if they have room and nobody waits for it. Returns whether they have. */
  takeAtOnce(bytes: number, held?: HeldRoom): boolean {
    if (this.#isCrowded || this.#lines.events.size > 0) return false;
    this.take(bytes, held);
    return true;
  }

  /** Takes it once they have room. Throws `limit` when they have none in this time, ms. */
  async takeInTurn(bytes: number, waitMs: number, held?: HeldRoom): Promise<void> {
    const take = (): true => {
      this.take(bytes, held);
      return true;
    };
    if (!(await this.#inTurn(this.#lines.events, waitMs, { fits: () => !this.#isCrowded, take }))) throw fullError();
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

  /** What `take` returns, or throws, once it fits and those before it have gone; undefined: not in this time, ms. */
  async #inTurn<Taken>(line: Set<Waiter>, waitMs: number, { fits, take }: Taking<Taken>): Promise<Taken | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<Taken | undefined>();
    const go = (): void => {
      try {
        resolve(take());
      } catch (thrown) {
        reject(thrown);
      }
    };
    this.#places += 1;
    const waiter: Waiter = { place: this.#places, fits, go };
    line.add(waiter);
    this.#wake();
    if (!line.has(waiter)) return await promise;
    const giveUp = (): void => {
      line.delete(waiter);
      resolve(undefined);
      this.#wake();
    };
    if (waitMs <= 0) {
      giveUp();
      return await promise;
    }
    const timer = setTimeout(giveUp, waitMs);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Lets those go that fit. In each line, the first one that does not fit stops those behind it, and in the other line it stops nobody. */
  #wake(): void {
    const { holds, events } = this.#lines;
    for (;;) {
      const [[hold], [event]] = [holds, events];
      const isHoldFirst = (hold?.place ?? Number.POSITIVE_INFINITY) < (event?.place ?? Number.POSITIVE_INFINITY);
      const next = (isHoldFirst ? [hold, event] : [event, hold]).find((waiter) => waiter?.fits() === true);
      if (next === undefined) return;
      holds.delete(next);
      events.delete(next);
      next.go();
    }
  }
}

interface Taking<Taken> {
  readonly fits: () => boolean;
  readonly take: () => Taken;
}

function fullError(): PlatformError {
  return new PlatformError("limit", "this host cannot record sessions right now: too many audit events are waiting for the auth service");
}
