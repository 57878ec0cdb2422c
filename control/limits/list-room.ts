import { PlatformError } from "../../core/errors/platform-error.ts";

const mib = 1024 * 1024;

/** Limits of lists whose length and pace others decide: clusters, hosts, and browsers that read slowly. */
export interface ListLimits {
  /** Most bytes that the lists of all users hold in this process, and those of one user: whole MiB. */
  readonly bytesOfAll: number;
  readonly bytesOfUser: number;
  /** Time limits of one answer of a cluster, and of all answers for a list, ms. */
  readonly answerMs: number;
  readonly listMs: number;
}

/** A user has enough for each list alone, not for two of the longest. */
export const usualListLimits: ListLimits = { bytesOfAll: 192 * mib, bytesOfUser: 48 * mib, answerMs: 15_000, listMs: 20_000 };

/** A list that is being read or sent. */
export interface HeldList {
  /** Counts bytes that the list is about to hold. Throws `limit`, and counts nothing, where they have no room. */
  hold(bytes: number): void;
  /** Nothing of the list is held any more. */
  release(): void;
}

/** Memory of this process for lists. */
export class ListRoom {
  readonly limits: ListLimits;
  readonly #users = new Map<string, number>();
  #held = 0;

  /** `limits`: those that differ from the usual ones. */
  constructor(limits: Partial<ListLimits> = {}) {
    this.limits = { ...usualListLimits, ...limits };
  }

  open(user: string): HeldList {
    let own = 0;
    return {
      hold: (bytes) => {
        this.#require(user, bytes);
        own += bytes;
        this.#count(user, bytes);
      },
      release: () => {
        this.#count(user, -own);
        own = 0;
      },
    };
  }

  #require(user: string, bytes: number): void {
    const { bytesOfAll, bytesOfUser } = this.limits;
    if ((this.#users.get(user) ?? 0) + bytes > bytesOfUser)
      throw new PlatformError("limit", `your lists that are being loaded hold ${bytesOfUser / mib} MiB at this proxy, the most for one user`, {
        hint: "wait until they are loaded",
      });
    if (this.#held + bytes > bytesOfAll)
      throw new PlatformError("limit", `the lists that this proxy is loading hold ${bytesOfAll / mib} MiB, the most for all users`, {
        hint: "try again in a moment",
      });
  }

  #count(user: string, change: number): void {
    this.#held += change;
    const held = (this.#users.get(user) ?? 0) + change;
    if (held === 0) this.#users.delete(user);
    else this.#users.set(user, held);
  }
}
