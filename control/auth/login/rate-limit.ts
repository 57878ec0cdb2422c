import { PlatformError } from "../../../core/errors/platform-error.ts";
import { Buckets } from "../../limits/buckets.ts";
import { clientNetwork } from "../../limits/client-network.ts";

export interface RateLimitOptions {
  readonly perMinute: number;
  readonly burst: number;
}

/** Limits calls without a certificate, by client address. */
export const anonymousLimit: RateLimitOptions = { perMinute: 20, burst: 40 };
/** Maximum number of addresses; the least recently used one is forgotten first. */
const maxAddresses = 10_000;

export interface RateLimit {
  /** Takes one from the address's bucket; throws `limit` when it is empty. */
  take(address: string, now: Date): void;
  /** Throws as `take` does, but takes nothing. */
  check(address: string, now: Date): void;
}

export function createRateLimit({ perMinute, burst }: RateLimitOptions): RateLimit {
  const buckets = Buckets.ofAtMost(maxAddresses, { perSecond: perMinute / 60, burst });
  const refuseUnless = (isLeft: boolean): void => {
    if (!isLeft) throw new PlatformError("limit", "too many attempts from this address", { hint: "try again in a minute" });
  };
  return {
    take: (address, now) => refuseUnless(buckets.take(clientNetwork(address), [1], now)),
    check: (address, now) => refuseUnless(buckets.has(clientNetwork(address), [1], now)),
  };
}
