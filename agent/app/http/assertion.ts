import { PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { AppToken } from "../app-deps.ts";

/** Rest of a token's life with which a request still goes out, ms: the application checks it a moment later. */
const leastMs = 10_000;

/** The token that names the user of one connection to the application: signed again before it ends, once for all requests that wait for it. */
export class Assertion {
  readonly #sign: () => Promise<AppToken>;
  readonly #now: () => Date;
  #current: AppToken | undefined;
  /** When the next one is fetched, ms. */
  #renewAt = 0;
  #signing: Promise<AppToken> | undefined;

  constructor(sign: () => Promise<AppToken>, now: () => Date) {
    this.#sign = sign;
    this.#now = now;
  }

  /** Throws PlatformError if no valid token is left and a new one cannot be signed. */
  async token(): Promise<string> {
    const now = this.#now().getTime();
    if (this.#current !== undefined && now < this.#renewAt) return this.#current.token;
    try {
      return (await this.#next()).token;
    } catch (thrown) {
      const error = toPlatformError(thrown);
      const current = this.#current;
      // Only an outage leaves the token before in use, never a refusal.
      if (current !== undefined && error.code === "unavailable" && current.expires.getTime() - now > leastMs) return current.token;
      throw error;
    }
  }

  #next(): Promise<AppToken> {
    this.#signing ??= this.#fetch().finally(() => {
      this.#signing = undefined;
    });
    return this.#signing;
  }

  async #fetch(): Promise<AppToken> {
    const token = await this.#sign();
    const now = this.#now().getTime();
    const leftMs = token.expires.getTime() - now;
    if (!(leftMs > 0))
      throw new PlatformError("unavailable", "the auth service has signed a token that is not valid on this host: compare the clocks");
    this.#current = token;
    this.#renewAt = now + leftMs / 2;
    return token;
  }
}
