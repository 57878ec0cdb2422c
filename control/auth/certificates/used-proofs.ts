import { PlatformError } from "../../../core/errors/platform-error.ts";

/** Age up to which a session's proof is accepted, and the same into the future: clocks differ. ms. */
export const freshMs = 120_000;
/** Maximum number of remembered proofs: 400 new certificates a second for the time that each is remembered. */
const usualMost = 100_000;

/**
 * Proofs of sessions that have had their certificate, in the memory of this process. Each is remembered until it has become too old in any case. A
 * restart forgets them: a proof could then be used once more within `freshMs`, by its own host and for its own account, which that host has a
 * certificate for already.
 */
export class UsedProofs {
  readonly #most: number;
  /** In the order of use: time at which each may be forgotten. */
  readonly #until = new Map<string, number>();

  constructor({ most = usualMost }: { readonly most?: number } = {}) {
    this.#most = most;
  }

  /** Uses up a proof. Throws `denied` for one that was used before, `limit` when no more can be remembered. */
  use(id: string, now: Date): void {
    for (const [old, until] of this.#until) {
      if (until > now.getTime()) break;
      this.#until.delete(old);
    }
    if (this.#until.has(id)) {
      throw new PlatformError("denied", "access denied: the proof of this session was used before", {
        hint: "connect again: each session has a proof of its own",
      });
    }
    if (this.#until.size >= this.#most)
      throw new PlatformError("limit", "too many sessions at databases begin now", { hint: "try again in a minute" });
    // A proof may be from the future.
    this.#until.set(id, now.getTime() + 2 * freshMs);
  }

  get size(): number {
    return this.#until.size;
  }
}
