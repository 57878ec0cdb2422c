export interface RoomSharesOptions {
  /** The part of the free room that an owner may fill within a day. */
  readonly share: number;
  /** Bytes that it may fill whatever the room is: at once, and each second afterwards. */
  readonly leastBytes: number;
  readonly leastPerSecond: number;
}

interface Held {
  readonly bytes: number;
  readonly at: number;
}

const daySeconds = 86_400;
/** Maximum number of owners that are known; the least recently used one is forgotten first. */
const mostOwners = 100_000;

/**
 * How much each owner has put on a disk lately, against its share of what is free there. What it has put counts less and less, over a day. As the room
 * shrinks, so does everybody's share: nobody fills the disk alone, and several together come ever slower.
 */
export class RoomShares {
  readonly #options: RoomSharesOptions;
  readonly #owners = new Map<string, Held>();

  constructor(options: RoomSharesOptions) {
    this.#options = options;
  }

  /** `room`: bytes that are free for all owners now. Returns false, and takes nothing, when the owner's share is used up. */
  take(owner: string, bytes: number, { room, now }: { readonly room: number; readonly now: Date }): boolean {
    const { share, leastBytes, leastPerSecond } = this.#options;
    const limit = Math.max(leastBytes, room * share);
    const known = this.#owners.get(owner);
    const seconds = known === undefined ? 0 : Math.max(0, now.getTime() - known.at) / 1000;
    const held = Math.max(0, (known?.bytes ?? 0) - seconds * Math.max(leastPerSecond, limit / daySeconds));
    const isEnough = held + bytes <= limit;
    this.#owners.delete(owner);
    this.#owners.set(owner, { bytes: isEnough ? held + bytes : held, at: now.getTime() });
    for (const first of this.#owners.keys()) {
      if (this.#owners.size <= mostOwners) break;
      this.#owners.delete(first);
    }
    return isEnough;
  }
}
