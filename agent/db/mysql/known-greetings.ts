import type { Greeting } from "../../../core/databases/mysql/greeting.ts";

/** What a client learns about its server before the server is dialled. */
export type KnownGreeting = Pick<Greeting, "version" | "capabilities" | "charset" | "status">;

/** Maximum number of servers whose greetings are remembered. */
const maxServers = 1_024;
/** Age at which a greeting is fetched again, ms. */
const maxAgeMs = 3_600_000;
/** Time after a failed attempt before the next one, ms. */
const retryMs = 60_000;

interface Entry {
  readonly greeting: KnownGreeting | undefined;
  /** performance.now(). */
  readonly until: number;
}

/** Greetings of servers: those of the latest logins, or fetched once for a server that is new or was not used for long. */
export class KnownGreetings {
  readonly #entries = new Map<string, Entry>();
  readonly #fetches = new Map<string, Promise<KnownGreeting | undefined>>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** The greeting of the server; undefined: it is unknown, and `fetch`, which runs once at a time for each server, failed. */
  async get(key: string, fetch: () => Promise<KnownGreeting>): Promise<KnownGreeting | undefined> {
    const entry = this.#entries.get(key);
    if (entry !== undefined && entry.until > this.#now()) return entry.greeting;
    const running = this.#fetches.get(key) ?? this.#fetch(key, fetch);
    return await running;
  }

  /** A server has greeted. */
  put(key: string, greeting: KnownGreeting): void {
    const { version, capabilities, charset, status } = greeting;
    this.#set(key, { greeting: { version, capabilities, charset, status }, until: this.#now() + maxAgeMs });
  }

  #set(key: string, entry: Entry): void {
    this.#entries.delete(key);
    if (this.#entries.size >= maxServers) {
      const [oldest] = this.#entries.keys();
      if (oldest !== undefined) this.#entries.delete(oldest);
    }
    this.#entries.set(key, entry);
  }

  #fetch(key: string, fetch: () => Promise<KnownGreeting>): Promise<KnownGreeting | undefined> {
    const fetched = fetch()
      .then(
        (greeting) => {
          this.put(key, greeting);
          return greeting;
        },
        () => {
          // An old one is better than a guess.
          const greeting = this.#entries.get(key)?.greeting;
          this.#set(key, { greeting, until: this.#now() + retryMs });
          return greeting;
        },
      )
      .finally(() => this.#fetches.delete(key));
    this.#fetches.set(key, fetched);
    return fetched;
  }
}
