import { PlatformError } from "../../../core/errors/platform-error.ts";

/** Age up to which a session's proof is accepted, and the same into the future: clocks differ. ms. */
export const freshMs = 120_000;
/** Remembered proofs that each host has for itself: a login every half second for the time that each is remembered. */
const usualOwn = 500;
/** Those that all hosts have together beyond their own: 400 new certificates a second. */
const usualMost = 100_000;

interface Remembered {
  /** Time at which it may be forgotten. */
  readonly until: number;
  readonly hostId: string;
  /** It counts for all hosts, not on its own host's share. */
  readonly isCommon: boolean;
}

/**
 * Proofs of sessions that have had their certificate, in the memory of this process. Each is remembered until it has become too old in any case. A
 * restart forgets them: a proof could then be used once more within `freshMs`, by its own host and for its own account, which that host has a
 * certificate for already. Hosts that use up what is for all keep no other host below its own share.
 */
export class UsedProofs {
  readonly #most: number;
  readonly #own: number;
  /** In the order of use. */
  readonly #used = new Map<string, Remembered>();
  /** Host → number of those on its own share. */
  readonly #ownOf = new Map<string, number>();
  #common = 0;

  constructor({ most = usualMost, own = usualOwn }: { readonly most?: number; readonly own?: number } = {}) {
    this.#most = most;
    this.#own = own;
  }

  /** Uses up a proof of a session at this host. Throws `denied` for one that was used before, `limit` when no more can be remembered. */
  use(id: string, { hostId, now }: { readonly hostId: string; readonly now: Date }): void {
    for (const [old, remembered] of this.#used) {
      if (remembered.until > now.getTime()) break;
      this.#used.delete(old);
      this.#count(remembered, -1);
    }
    if (this.#used.has(id)) {
      throw new PlatformError("denied", "access denied: the proof of this session was used before", {
        hint: "connect again: each session has a proof of its own",
      });
    }
    const isCommon = (this.#ownOf.get(hostId) ?? 0) >= this.#own;
    if (isCommon && this.#common >= this.#most)
      throw new PlatformError("limit", "too many sessions at databases begin now", { hint: "try again in a minute" });
    // A proof may be from the future.
    const remembered = { until: now.getTime() + 2 * freshMs, hostId, isCommon };
    this.#used.set(id, remembered);
    this.#count(remembered, 1);
  }

  #count({ hostId, isCommon }: Remembered, by: 1 | -1): void {
    if (isCommon) {
      this.#common += by;
      return;
    }
    const own = (this.#ownOf.get(hostId) ?? 0) + by;
    if (own === 0) this.#ownOf.delete(hostId);
    else this.#ownOf.set(hostId, own);
  }

  get size(): number {
    return this.#used.size;
  }
}
