import { PlatformError } from "../../core/errors/platform-error.ts";

/** Maximum number of requests of one user at a time on this agent, of all and of some kinds. */
export const mostOfUser = {
  requests: 2_000,
  /** Of them, those that go on until somebody ends them. */
  "watches and followed logs": 2_000,
  /** Of them, those that are streams to pods. */
  streams: 200,
  /** Of them, those to API servers that speak HTTP/1.1, which have few connections for all users. */
  "requests over HTTP/1.1": 128,
  /** Of them, those whose answers are filtered: each may hold an object, some 1.5 MiB, that its client does not take. */
  "filtered requests": 256,
  /** Of them, those that delete a part of several objects: each holds a page of a list. */
  "deletions of several objects": 4,
} as const;
type Counted = keyof typeof mostOfUser;

/**
 * Requests of one user at a time for whose responses this agent holds much (`upstream/api-server`), so that they come at their full speed. Watches are counted apart:
 * they are many and last, and say little at a time, and must not slow down lists and logs.
 */
const usualOfUser = { ongoing: 64, others: 256 } as const;

/** Bytes of requests' bodies that are held at a time, of one user and of all: API servers take one of 3 MiB. */
export const mostHeld = { ofUser: 32 * 1024 * 1024, ofAll: 256 * 1024 * 1024 } as const;

/** The body of one request, as far as it is held. */
export interface BodyShare extends Disposable {
  /** Counts that many more. Throws `limit`. */
  add(bytes: number): void;
}

/** Counts the requests of each user over all their connections: one user must not use up the agent, or the API server's patience. */
export class UserRequests {
  readonly #counts = new Map<string, number>();
  readonly #most: Readonly<Record<Counted, number>>;
  readonly #mostHeld: Readonly<Record<keyof typeof mostHeld, number>>;
  readonly #held = new Map<string, number>();
  #allHeld = 0;

  constructor(most: Partial<Record<Counted, number>> = {}, held: Partial<Record<keyof typeof mostHeld, number>> = {}) {
    this.#most = { ...mostOfUser, ...most };
    this.#mostHeld = { ...mostHeld, ...held };
  }

  /** Counts one until the returned function is called, once. Throws `limit`. */
  take(user: string, kind: Counted): () => void {
    const key = countKey(user, kind);
    const count = this.#counts.get(key) ?? 0;
    const most = this.#most[kind];
    if (count >= most)
      throw new PlatformError("limit", `access denied: ${user} already has ${most} ${kind} at this agent (limit per user)`, {
        hint: "end some of them first",
      });
    this.#counts.set(key, count + 1);
    return () => {
      const left = (this.#counts.get(key) ?? 0) - 1;
      if (left > 0) this.#counts.set(key, left);
      else this.#counts.delete(key);
    };
  }

  /** A user has so many requests, counted by `take`, that the agent holds less of the response of one that is sent now: a watch or followed log, or another. */
  hasMany(user: string, isOngoing: boolean): boolean {
    const ongoing = this.#counts.get(countKey(user, "watches and followed logs")) ?? 0;
    if (isOngoing) return ongoing > usualOfUser.ongoing;
    return (this.#counts.get(countKey(user, "requests")) ?? 0) - ongoing > usualOfUser.others;
  }

  /** Room for the body of one request of a user, until it is disposed. */
  holding(user: string): BodyShare {
    let own = 0;
    const change = (bytes: number): void => {
      own += bytes;
      this.#allHeld += bytes;
      const all = (this.#held.get(user) ?? 0) + bytes;
      if (all > 0) this.#held.set(user, all);
      else this.#held.delete(user);
    };
    return {
      add: (bytes) => {
        if ((this.#held.get(user) ?? 0) + bytes > this.#mostHeld.ofUser)
          throw new PlatformError(
            "limit",
            `access denied: this agent already holds the most bytes of ${user}'s requests that it holds for one user`,
            {
              hint: "send fewer of them at a time",
            },
          );
        if (this.#allHeld + bytes > this.#mostHeld.ofAll)
          throw new PlatformError("limit", "this agent already holds as many bytes of requests as it may", { hint: "try again in a moment" });
        change(bytes);
      },
      [Symbol.dispose]: () => change(-own),
    };
  }
}

function countKey(user: string, kind: Counted): string {
  return `${kind} ${user}`;
}
