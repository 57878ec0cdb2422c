import { PlatformError } from "../../core/errors/platform-error.ts";
import type { Log } from "../../core/log/log.ts";
import { keyOf, type MassOwner, type MassRoom, MassShares, type SpoolLine } from "./mass-shares.ts";

/** Minimum time between two log lines about requests that are refused, ms. */
const tellMs = 60_000;

/** Room for a user's events to come, until it is disposed. */
export class HeldRoom implements Disposable {
  readonly owner: MassOwner;
  readonly #giveBack: (bytes: number) => void;
  #bytes: number;

  constructor({ owner, bytes }: Omit<MassRoom, "isHeld">, giveBack: (bytes: number) => void) {
    this.owner = owner;
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

/** Room that is wanted now or within a time. */
export interface RoomAsk extends Omit<MassRoom, "isHeld"> {
  /** Time that it may wait, ms. */
  readonly waitMs: number;
}

/** Something that waits for room. */
interface Waiter {
  readonly room: MassRoom;
  /** Its place among all that wait. */
  readonly place: number;
  readonly mayGo: () => boolean;
  readonly go: () => void;
}

/** Bytes of events on the disk of this host, and how many there may be. */
export class SpoolRoom {
  readonly #maxBytes: number;
  readonly #log: Log;
  readonly #shares: MassShares;
  #bytes = 0;
  /** Bytes of events to come. */
  #held = 0;
  #isFull = false;
  /** When it was logged that requests are refused, of `performance.now`. */
  #toldAt = Number.NEGATIVE_INFINITY;
  /** Bytes on disk of events that come in masses, by segment, and by user of a service. */
  readonly #written = new Map<string, Map<string, MassRoom>>();
  /** Those that wait, of each user of a service: first come first served. */
  readonly #lines = new Map<string, Set<Waiter>>();
  #places = 0;

  /** `isSeveral`: as of `MassShares`. */
  constructor(maxBytes: number, log: Log, { isSeveral = true } = {}) {
    this.#maxBytes = maxBytes;
    this.#log = log;
    this.#shares = new MassShares(maxBytes, isSeveral);
  }

  /** Holds room for events that come in masses, while `mayHold`; undefined: there is none in this time. Never rejects. */
  async hold({ owner, bytes, waitMs }: RoomAsk, mayHold: () => boolean): Promise<HeldRoom | undefined> {
    const room = { owner, bytes, isHeld: true };
    const take = (): HeldRoom => {
      this.#held += bytes;
      this.#shares.take(room);
      return new HeldRoom(room, (unused) => {
        this.#held -= unused;
        this.#shares.giveBack({ ...room, bytes: unused });
        this.#wake();
      });
    };
    return await this.#inTurn(room, waitMs, { mayGo: mayHold, take });
  }

  /** Logs that a request is refused, once in a while. */
  tellCrowded({ service, user }: MassOwner): void {
    if (performance.now() - this.#toldAt < tellMs) return;
    this.#toldAt = performance.now();
    this.#log.error(
      "too many requests of a user or of all run, or too many audit events wait for the auth service or the disk: requests are refused until there is room",
      { service, user },
    );
  }

  /** Takes room for an event, of `held` first. Throws `limit` when the spool is full. */
  take(bytes: number, held?: HeldRoom, owner = held?.owner): void {
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
    if (held !== undefined) this.#shares.use(held.owner, own);
    if (owner !== undefined) this.#shares.take({ owner, bytes: bytes - own, isHeld: false });
  }

  /** Takes room for an event that comes in masses, if there is some and nobody waits for any. Returns whether it did. */
  takeAtOnce(owner: MassOwner, bytes: number): boolean {
    const room = { owner, bytes, isHeld: false };
    if (this.#lines.size > 0 || !this.#shares.hasShare(room, this.#all) || !this.#hasRoom(room)) return false;
    this.take(bytes, undefined, owner);
    return true;
  }

  /** Takes room for an event that comes in masses once there is some. Throws `limit` when there is none in this time. */
  async takeInTurn({ owner, bytes, waitMs }: RoomAsk): Promise<void> {
    const take = (): true => {
      this.take(bytes, undefined, owner);
      return true;
    };
    if (!(await this.#inTurn({ owner, bytes, isHeld: false }, waitMs, { mayGo: () => true, take }))) throw fullError();
  }

  /** Counts events that are there already, however many. */
  add(bytes: number): void {
    this.#bytes += bytes;
  }

  /** An event is on disk, in this segment. */
  written(segment: string, { text, owner }: SpoolLine): void {
    if (owner === undefined) return;
    const owners = this.#written.get(segment) ?? new Map<string, MassRoom>();
    this.#written.set(segment, owners);
    const bytes = (owners.get(keyOf(owner))?.bytes ?? 0) + Buffer.byteLength(text);
    owners.set(keyOf(owner), { owner, bytes, isHeld: false });
  }

  /** An event has not been written. */
  giveBack({ text, owner }: SpoolLine): void {
    const bytes = Buffer.byteLength(text);
    this.#bytes -= bytes;
    if (owner !== undefined) this.#shares.giveBack({ owner, bytes, isHeld: false });
    this.#wake();
  }

  /** A segment of so many bytes has left. */
  free(segment: string, bytes: number): void {
    this.#bytes = Math.max(0, this.#bytes - bytes);
    for (const room of this.#written.get(segment)?.values() ?? []) this.#shares.giveBack(room);
    this.#written.delete(segment);
    this.#wake();
  }

  /** Bytes of whatever there is. */
  get #all(): number {
    return this.#bytes + this.#held;
  }

  #hasRoom(room: MassRoom): boolean {
    return this.#shares.hasRoom(room, this.#all);
  }

  /** What `take` returns, or throws, once it fits and those before it have gone; undefined: not in this time, ms. */
  async #inTurn<T>(room: MassRoom, waitMs: number, { mayGo, take }: Turn<T>): Promise<T | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<T | undefined>();
    const go = (): void => {
      try {
        resolve(take());
      } catch (thrown) {
        reject(thrown);
      }
    };
    this.#places += 1;
    const waiter: Waiter = { room, place: this.#places, mayGo, go };
    const line = this.#lines.get(keyOf(room.owner)) ?? new Set();
    this.#lines.set(keyOf(room.owner), line);
    line.add(waiter);
    this.#wake();
    if (!line.has(waiter)) return await promise;
    const giveUp = (): void => {
      this.#remove(waiter);
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

  #remove(waiter: Waiter): void {
    const key = keyOf(waiter.room.owner);
    const line = this.#lines.get(key);
    line?.delete(waiter);
    if (line?.size === 0) this.#lines.delete(key);
  }

  /** Lets those go that fit. */
  #wake(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      this.#remove(next);
      next.go();
    }
  }

  /**
   * The one that may go now. A user whose share is used up waits alone; of the others of a service, the first one that does not fit stops those behind it, and
   * stops nobody of another service.
   */
  #next(): Waiter | undefined {
    const firsts = new Map<string, Waiter>();
    for (const [first] of this.#lines.values()) {
      if (first === undefined || !this.#shares.hasShare(first.room, this.#all)) continue;
      const { service } = first.room.owner;
      if (first.place < (firsts.get(service)?.place ?? Number.POSITIVE_INFINITY)) firsts.set(service, first);
    }
    return [...firsts.values()].sort((one, other) => one.place - other.place).find(({ room, mayGo }) => this.#hasRoom(room) && mayGo());
  }
}

interface Turn<T> {
  readonly mayGo: () => boolean;
  readonly take: () => T;
}

function fullError(): PlatformError {
  return new PlatformError("limit", "this host cannot record sessions right now: too many audit events are waiting for the auth service");
}
