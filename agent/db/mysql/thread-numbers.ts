import { randomInt } from "node:crypto";

/** The lowest number that this agent gives to a connection: servers count from 1, and do not come that far, but for those whose numbers say more (TiDB). */
const lowest = 2 ** 31;
const numbers = 2 ** 31;

/** Whether agents and proxies give such numbers, and most servers do not. Pure. */
export function isGiven(number: number): boolean {
  return number >= lowest && number < lowest + numbers;
}

/**
 * Numbers of connections: the one that a client was greeted with before its server was known, and the server's own one. Clients name theirs to
 * interrupt a query, on another connection.
 */
export class ThreadNumbers {
  readonly #byOwn = new Map<number, { readonly key: string; readonly thread: number } | undefined>();

  /** A number for a client: `greeted`, if a proxy has greeted it with that one, or a new one. Give it back with `release`. */
  take(greeted?: number): number {
    for (let wanted = greeted; ; wanted = undefined) {
      const own = wanted ?? lowest + randomInt(numbers);
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

  /** The server behind `key` calls this connection `thread`. */
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
}
