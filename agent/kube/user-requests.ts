import { PlatformError } from "../../core/errors/platform-error.ts";

/** Requests that one user may have at a time on this agent, and of these the ones that are streams to pods. */
export const mostOfUser = { requests: 2_000, streams: 200 } as const;

/** Counts the requests of each user over all their connections: one user must not use up the agent, or the API server's patience. */
export class UserRequests {
  readonly #counts = new Map<string, number>();
  readonly #most: { readonly [Kind in keyof typeof mostOfUser]: number };

  constructor(most: { readonly [Kind in keyof typeof mostOfUser]: number } = mostOfUser) {
    this.#most = most;
  }

  /** Counts one until the returned function is called, once. Throws `limit`. */
  take(user: string, kind: keyof typeof mostOfUser): () => void {
    const key = `${kind} ${user}`;
    const count = this.#counts.get(key) ?? 0;
    const most = this.#most[kind];
    if (count >= most)
      throw new PlatformError("limit", `access denied: ${user} already has ${most} ${kind} at this agent, the most for one user`, {
        hint: "end some of them first",
      });
    this.#counts.set(key, count + 1);
    return () => {
      const left = (this.#counts.get(key) ?? 0) - 1;
      if (left > 0) this.#counts.set(key, left);
      else this.#counts.delete(key);
    };
  }
}
