import { PlatformError } from "../../core/errors/platform-error.ts";

const mib = 1024 * 1024;
/** Most bytes that lists hold in this process, those of all users and those of one: enough for each list alone, not for two of the longest. */
const [ofAll, ofUser] = [192 * mib, 48 * mib] as const;

/** A list that is being read or sent. */
export interface HeldList {
  /** Counts bytes that the list is about to hold. Throws `limit`, and counts nothing, where they have no room. */
  hold(bytes: number): void;
  /** Nothing of the list is held any more. */
  release(): void;
}

/** Memory of this process for lists whose length others decide: clusters, hosts, and browsers that read slowly. */
export class ListRoom {
  readonly #users = new Map<string, number>();
  #held = 0;

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
    if ((this.#users.get(user) ?? 0) + bytes > ofUser)
      throw new PlatformError("limit", `your lists that are being loaded hold ${ofUser / mib} MiB at this proxy, the most for one user`, {
        hint: "wait until they are loaded",
      });
    if (this.#held + bytes > ofAll)
      throw new PlatformError("limit", `the lists that this proxy is loading hold ${ofAll / mib} MiB, the most for all users`, {
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
