import { PlatformError } from "../../core/errors/platform-error.ts";
import { Buckets } from "./buckets.ts";
import { clientNetwork } from "./request-limit.ts";

/** Credentials of one network that turned out not to be of a session, and those of all networks together. */
const ofNetwork = { perSecond: 5, burst: 100 };
const ofAll = { perSecond: 50, burst: 1_000 };
/** Time for which such a credential is refused without a question, ms: pages go on asking after their session has ended. */
const goneMs = 30_000;
const maxGone = 10_000;
const maxProven = 20_000;

/** A credential of a browser, from a client. */
export interface Guess {
  /** A digest of the credential, which is not kept itself. */
  readonly digest: string;
  /** `ip:port` or `ip`. */
  readonly peer: string;
}

/**
 * Bounds the questions to the auth service that clients cause with credentials that they have made up. Credentials that were right before are exempt: clients
 * who share an address with the one that guesses keep their sessions.
 */
export class GuessLimit {
  readonly #clock: () => number;
  readonly #networks = new Buckets(ofNetwork);
  readonly #all = new Buckets(ofAll);
  /** Number of open questions by network; `""` counts all of them. */
  readonly #open = new Map<string, number>();
  readonly #proven = new Map<string, true>();
  /** Time until which each is refused, ms. */
  readonly #gone = new Map<string, number>();

  /** `clock`: monotonic milliseconds. */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** The answer to `question`, which throws `unauthenticated` for a credential that is not of a session. Throws as it does, and `limit`. */
  async ask<T>(guess: Guess, question: () => Promise<T>): Promise<T> {
    const { digest } = guess;
    if ((this.#gone.get(digest) ?? 0) > this.#clock()) throw new PlatformError("unauthenticated", "this session has ended", { hint: "log in again" });
    const isProven = this.#proven.has(digest);
    const network = clientNetwork(guess.peer);
    if (!isProven) this.#requireRoom(network);
    this.#count(network, 1);
    try {
      const answer = await question();
      keep(this.#proven, { key: digest, value: true, most: maxProven });
      return answer;
    } catch (thrown) {
      if (thrown instanceof PlatformError && thrown.code === "unauthenticated") this.#refused(digest, isProven ? undefined : network);
      throw thrown;
    } finally {
      this.#count(network, -1);
    }
  }

  /** Each open question may turn out to be a guess. */
  #requireRoom(network: string): void {
    const now = new Date(this.#clock());
    const isLeft = this.#networks.has(network, [this.#openOf(network) + 1], now) && this.#all.has("", [this.#openOf("") + 1], now);
    if (!isLeft)
      throw new PlatformError("limit", "too many requests from this address with sessions that do not exist", { hint: "try again in a minute" });
  }

  #refused(digest: string, network: string | undefined): void {
    this.#proven.delete(digest);
    keep(this.#gone, { key: digest, value: this.#clock() + goneMs, most: maxGone });
    if (network === undefined) return;
    const now = new Date(this.#clock());
    this.#networks.take(network, [1], now);
    this.#all.take("", [1], now);
  }

  #openOf(network: string): number {
    return this.#open.get(network) ?? 0;
  }

  #count(network: string, change: 1 | -1): void {
    for (const owner of [network, ""]) {
      const count = this.#openOf(owner) + change;
      if (count === 0) this.#open.delete(owner);
      else this.#open.set(owner, count);
    }
  }
}

/** Keeps a value; the one that was kept longest ago is dropped first. */
function keep<T>(all: Map<string, T>, { key, value, most }: { readonly key: string; readonly value: T; readonly most: number }): void {
  all.delete(key);
  all.set(key, value);
  const [oldest] = all.keys();
  if (all.size > most && oldest !== undefined) all.delete(oldest);
}
