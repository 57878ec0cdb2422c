import { PlatformError } from "../../core/errors/platform-error.ts";

const mib = 1024 * 1024;

/** Limits of lists, and of files on their way, whose length and pace others decide: clusters, hosts, and browsers that read slowly. */
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
/** What uploads and downloads hold: their windows. */
export const transferLimits: Partial<ListLimits> = { bytesOfAll: 192 * mib, bytesOfUser: 24 * mib };

/** A list that is being read or sent. */
export interface HeldList {
  /** Counts bytes that the list is about to hold. Throws `limit`, and counts nothing, where they have no room. */
  hold(bytes: number): void;
  /** Nothing of the list is held any more. */
  release(): void;
}

/** Memory of this process for lists, or for something else of users that comes and goes. */
export class ListRoom {
  readonly limits: ListLimits;
  readonly #what: string;
  readonly #users = new Map<string, number>();
  #held = 0;

  /** `limits`: those that differ from the usual ones. `what`: a noun for the refusal, plural. */
  constructor(limits: Partial<ListLimits> = {}, what = "lists that are being loaded") {
    this.limits = { ...usualListLimits, ...limits };
    this.#what = what;
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
      throw new PlatformError("limit", `your ${this.#what} hold ${bytesOfUser / mib} MiB at this proxy, the most for one user`, {
        hint: "wait until some of them are done",
      });
    if (this.#held + bytes > bytesOfAll)
      throw new PlatformError("limit", `the ${this.#what} at this proxy hold ${bytesOfAll / mib} MiB, the most for all users`, {
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
