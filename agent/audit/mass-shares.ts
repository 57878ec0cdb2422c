import type { ServedKind } from "../../core/kinds/service-kinds.ts";

/** Whose events come in masses. */
export interface MassOwner {
  /** The service that records them. */
  readonly service: ServedKind;
  readonly user: string;
  /** A part of them that has a share of its own, a small one. */
  readonly part?: "refusals" | undefined;
}

/** One line of the spool. */
export interface SpoolLine {
  /** JSON and a line feed. */
  readonly text: string;
  /** Of an event that comes in masses. */
  readonly owner?: MassOwner | undefined;
}

/** Room that events which come in masses take. */
export interface MassRoom {
  readonly owner: MassOwner;
  readonly bytes: number;
  /** For events to come, of a request that may last for hours. */
  readonly isHeld: boolean;
}

/** The part of the spool that events which come in masses may fill. */
const ofMasses = 0.75;
/** The part for those of one service where there are several: whatever one does, each other one has a quarter. */
const ofOneOfSeveral = 0.5;
/**
 * A user may take this many times the room that is then left to their service: however many users take all they may, some is left for the next one. What is
 * taken in all leaves with the next batches: three quarters for a user alone, three sevenths each for two. What is held stays: a fifth for a user alone.
 * Refusals come beside all else: a user alone who takes all they may of both leaves a fifth.
 */
const timesWhatIsLeft = { inAll: 3, refusals: 0.25, held: 0.25 } as const;

/** Bytes of the spool that are taken by events which come in masses, for each service and user, and how many there may be. */
export class MassShares {
  readonly #ofMasses: number;
  readonly #ofService: number;
  /** By service, by user of a service, and what the user holds of it. */
  readonly #taken = new Map<string, number>();

  /** `isSeveral`: this host may have events of several services that come in masses. */
  constructor(maxBytes: number, isSeveral: boolean) {
    this.#ofMasses = maxBytes * ofMasses;
    this.#ofService = maxBytes * (isSeveral ? ofOneOfSeveral : ofMasses);
  }

  /** Whether all masses and their service have this room; `all`: bytes taken by whatever there is. */
  hasRoom({ owner, bytes }: MassRoom, all: number): boolean {
    return bytes <= this.#left(owner, all);
  }

  /** Whether a user's share has this room. */
  hasShare({ owner, bytes, isHeld }: MassRoom, all: number): boolean {
    const left = Math.max(0, this.#left(owner, all) - bytes);
    const isWithin = (key: string, times: number): boolean => this.#of(key) + bytes <= left * times;
    return isWithin(keyOf(owner), timesWhatIsLeft[owner.part ?? "inAll"]) && (!isHeld || isWithin(heldKeyOf(owner), timesWhatIsLeft.held));
  }

  /** Room is taken. */
  take({ owner, bytes, isHeld }: MassRoom): void {
    this.#count(owner.service, bytes);
    this.#count(keyOf(owner), bytes);
    if (isHeld) this.#count(heldKeyOf(owner), bytes);
  }

  /** Room is given back. */
  giveBack(room: MassRoom): void {
    this.take({ ...room, bytes: -room.bytes });
  }

  /** Events have come for which this room was held. */
  use(owner: MassOwner, bytes: number): void {
    this.#count(heldKeyOf(owner), -bytes);
  }

  /** What is left to a service, of its own part and of what all have. */
  #left({ service }: MassOwner, all: number): number {
    return Math.min(this.#ofService - this.#of(service), this.#ofMasses - all);
  }

  #of(key: string): number {
    return this.#taken.get(key) ?? 0;
  }

  #count(key: string, bytes: number): void {
    const taken = this.#of(key) + bytes;
    if (taken === 0) this.#taken.delete(key);
    else this.#taken.set(key, taken);
  }
}

/** A key for each user of a service, and for each part with a share of its own. */
export function keyOf({ service, user, part }: MassOwner): string {
  return part === undefined ? `${service} ${user}` : `${service}/${part} ${user}`;
}

function heldKeyOf(owner: MassOwner): string {
  return `held ${keyOf(owner)}`;
}
