import { setTimeout } from "node:timers/promises";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { createFairQueue } from "../../core/limits/fair-queue.ts";
import { Buckets } from "./buckets.ts";
import { clientNetwork, clientSite } from "./request-limit.ts";

/** Credentials of one network, of the networks of one site, and of all together that turned out not to be of a session. */
const ofNetwork = { perSecond: 5, burst: 100 };
const ofSite = { perSecond: 20, burst: 300 };
const ofAll = { perSecond: 50, burst: 1_000 };
/** Maximum questions that wait for room among those of all: the last of them waits ten seconds. */
const maxWaiting = 10 * ofAll.perSecond;
/** Time for which such a credential is refused without a question, ms: pages go on asking after their session has ended. */
const goneMs = 30_000;
const maxGone = 10_000;
const maxProven = 20_000;

/** A credential of a browser, from a client. */
export interface Guess {
  /** A digest of the credential, which is not kept itself. */
  readonly digest: string;
  /** The digest of the session that it is for, if that is another one: a session that is known proves it too. */
  readonly session?: string;
  /** `ip:port` or `ip`. */
  readonly peer: string;
}

/** Where a guess comes from. */
interface Origin {
  readonly network: string;
  readonly site: string;
}

/**
 * Bounds the questions to the auth service that clients cause with credentials that they have made up. Credentials that were right before are exempt: clients
 * who share an address with the one that guesses keep their sessions. Networks and sites that guess are refused; where many of them use up what all have
 * together, sites take turns.
 */
export class GuessLimit {
  readonly #clock: () => number;
  readonly #sleep: (ms: number) => Promise<unknown>;
  readonly #networks = new Buckets(ofNetwork);
  readonly #sites = new Buckets(ofSite);
  readonly #all = new Buckets(ofAll);
  readonly #turns = createFairQueue({ atOnce: 1, waiting: maxWaiting, what: "requests with sessions that this proxy does not know yet" });
  /** Number of open questions by network and by site, and of those that have had their turn. */
  readonly #ofNetworks = new Map<string, number>();
  readonly #ofSites = new Map<string, number>();
  #asking = 0;
  readonly #proven = new Map<string, true>();
  /** Time until which each is refused, ms. */
  readonly #gone = new Map<string, number>();

  /** `clock`: monotonic milliseconds. */
  constructor(clock: () => number, sleep: (ms: number) => Promise<unknown> = setTimeout) {
    this.#clock = clock;
    this.#sleep = sleep;
  }

  /** A session that the auth service has just opened does not count as a guess. */
  opened(digest: string): void {
    keep(this.#proven, { key: digest, value: true, most: maxProven });
  }

  /** The answer to `question`, which throws `unauthenticated` for a credential that is not of a session. Throws as it does, and `limit`. */
  async ask<T>(guess: Guess, question: () => Promise<T>): Promise<T> {
    const { digest, session = digest, peer } = guess;
    this.#refuseGone(digest);
    if (this.#proven.has(digest) || this.#proven.has(session)) return await this.#answer(guess, question);
    const origin = { network: clientNetwork(peer), site: clientSite(peer) };
    this.#requireRoom(origin);
    this.#count(origin, 1);
    try {
      await this.#turns(origin.site, async () => await this.#startAsking());
      try {
        this.#refuseGone(digest);
        return await this.#answer(guess, question, origin);
      } finally {
        this.#asking -= 1;
      }
    } finally {
      this.#count(origin, -1);
    }
  }

  /** `origin`: of one that may turn out to be a guess. */
  async #answer<T>({ digest, session = digest }: Guess, question: () => Promise<T>, origin?: Origin): Promise<T> {
    try {
      const answer = await question();
      keep(this.#proven, { key: session, value: true, most: maxProven });
      return answer;
    } catch (thrown) {
      if (thrown instanceof PlatformError && thrown.code === "unauthenticated") this.#refused({ digest, session }, origin);
      throw thrown;
    }
  }

  #refuseGone(digest: string): void {
    if ((this.#gone.get(digest) ?? 0) > this.#clock()) throw new PlatformError("unauthenticated", "this session has ended", { hint: "log in again" });
  }

  /** Each open question may turn out to be a guess. */
  #requireRoom({ network, site }: Origin): void {
    const now = this.#now();
    const open = (counts: ReadonlyMap<string, number>, key: string): number => (counts.get(key) ?? 0) + 1;
    if (this.#networks.has(network, [open(this.#ofNetworks, network)], now) && this.#sites.has(site, [open(this.#ofSites, site)], now)) return;
    throw new PlatformError("limit", "too many requests from this address with sessions that do not exist", { hint: "try again in a minute" });
  }

  /** Waits until there is room among the guesses of all. */
  async #startAsking(): Promise<void> {
    while (!this.#all.has("", [this.#asking + 1], this.#now())) await this.#sleep(1_000 / ofAll.perSecond);
    this.#asking += 1;
  }

  #refused({ digest, session }: { readonly digest: string; readonly session: string }, origin: Origin | undefined): void {
    this.#proven.delete(session);
    keep(this.#gone, { key: digest, value: this.#clock() + goneMs, most: maxGone });
    if (origin === undefined) return;
    const now = this.#now();
    this.#networks.take(origin.network, [1], now);
    this.#sites.take(origin.site, [1], now);
    this.#all.take("", [1], now);
  }

  #now(): Date {
    return new Date(this.#clock());
  }

  #count({ network, site }: Origin, change: 1 | -1): void {
    add(this.#ofNetworks, network, change);
    add(this.#ofSites, site, change);
  }
}

function add(counts: Map<string, number>, key: string, change: number): void {
  const count = (counts.get(key) ?? 0) + change;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}

/** Keeps a value; the one that was kept longest ago is dropped first. */
function keep<T>(all: Map<string, T>, { key, value, most }: { readonly key: string; readonly value: T; readonly most: number }): void {
  all.delete(key);
  all.set(key, value);
  const [oldest] = all.keys();
  if (all.size > most && oldest !== undefined) all.delete(oldest);
}
