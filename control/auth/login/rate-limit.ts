import { PlatformError } from "../../../core/errors/platform-error.ts";
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

export function createRateLimit(options: RateLimitOptions): RateLimit {
  const buckets = new Map<string, { left: number; at: number }>();
  const spend = (address: string, now: Date, amount: number): void => {
    const key = clientNetwork(address);
    const known = buckets.get(key);
    const time = now.getTime();
    const gained = known === undefined ? 0 : (Math.max(0, time - known.at) / 60_000) * options.perMinute;
    const left = known === undefined ? options.burst : Math.min(options.burst, known.left + gained);
    buckets.delete(key);
    buckets.set(key, { left: Math.max(0, left - amount), at: time });
    if (buckets.size > maxAddresses) {
      const oldest = buckets.keys().next();
      if (oldest.done !== true) buckets.delete(oldest.value);
    }
    if (left < 1) throw new PlatformError("limit", "too many attempts from this address", { hint: "try again in a minute" });
  };
  return { take: (address, now) => spend(address, now, 1), check: (address, now) => spend(address, now, 0) };
}
