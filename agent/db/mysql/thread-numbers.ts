import { randomInt } from "node:crypto";
import { givenNumbers, isGiven, lowestGiven } from "../../../core/databases/mysql/kill-target.ts";

/**
 * Numbers of connections: the one that a client was greeted with before its server was known, and the server's own one. Clients name theirs to
 * interrupt a query, on another connection.
 */
export class ThreadNumbers {
  readonly #byOwn = new Map<number, { readonly key: string; readonly thread: number } | undefined>();

  /** A number for a client: `greeted`, if a proxy has greeted it with that one, or a new one. Give it back with `release`. */
  take(greeted?: number): number {
    for (let wanted = greeted; ; wanted = undefined) {
      const own = wanted ?? lowestGiven + randomInt(givenNumbers);
      if (this.#byOwn.has(own)) continue;
      this.#byOwn.set(own, undefined);
      return own;
    }
  }

  /** The number that a proxy states (parameter `at` of the request); undefined for anything else. Pure. */
  static stated(text: string | undefined): number | undefined {
    const number = /^\d{10}$/.test(text ?? "") ? Number(text) : 0;
    return isGiven(number) ? number : undefined;
  }

  /** The server behind `key`, which begins with the name of the database and a space, calls this connection `thread`. */
  bind(own: number, key: string, thread: number): void {
    this.#byOwn.set(own, { key, thread });
  }

  release(own: number): void {
    this.#byOwn.delete(own);
  }

  /** The server's number of a connection to the same database; undefined: it is another number. */
  threadOf(own: number, key: string): number | undefined {
    const bound = this.#byOwn.get(own);
    return bound?.key === key ? bound.thread : undefined;
  }

  /** The same by the name of the database alone. */
  threadAt(own: number, database: string): number | undefined {
    const bound = this.#byOwn.get(own);
    return bound?.key.startsWith(`${database} `) === true ? bound.thread : undefined;
  }
}

/** Those of all sessions of this process. */
export const connectionThreads: ThreadNumbers = new ThreadNumbers();
