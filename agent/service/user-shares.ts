import { PlatformError } from "../../core/errors/platform-error.ts";

/** Maximum connections of one user: half of the streams that this host serves. */
const connectionsOfUser = 500;

/** Connections of each user to this host. */
export class UserShares {
  readonly #counts = new Map<string, number>();

  /** Counts one connection until the function that it returns is called, once. Throws `limit`. The proxy counts connections too. */
  take(user: string): () => void {
    const count = this.#counts.get(user) ?? 0;
    if (count >= connectionsOfUser) {
      throw new PlatformError("limit", `access denied: ${user} already has ${connectionsOfUser} connections to this host, the most for one user`, {
        hint: "end some of them first",
      });
    }
    this.#counts.set(user, count + 1);
    return () => this.#release(user);
  }

  #release(user: string): void {
    const count = (this.#counts.get(user) ?? 0) - 1;
    if (count > 0) this.#counts.set(user, count);
    else this.#counts.delete(user);
  }
}
