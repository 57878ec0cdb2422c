import { isIP, isIPv6, type Socket } from "node:net";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { canonicalIp } from "../../core/transport/canonical-ip.ts";
import { Buckets } from "./buckets.ts";

/* Limits of requests by the client's network. */

export interface RateLimitOptions {
  readonly perMinute: number;
  readonly burst: number;
}

/** Limits calls without a certificate, by client address. */
export const anonymousLimit: RateLimitOptions = { perMinute: 20, burst: 40 };
/** Maximum number of addresses; the least recently used one is forgotten first. */
const maxAnonymous = 10_000;

export interface RateLimit {
  /** Takes one from the address's bucket; throws `limit` when it is empty. */
  take(address: string, now: Date): void;
  /** Throws as `take` does, but takes nothing. */
  check(address: string, now: Date): void;
}

export function createRateLimit({ perMinute, burst }: RateLimitOptions): RateLimit {
  const buckets = Buckets.ofAtMost(maxAnonymous, { perSecond: perMinute / 60, burst });
  const refuseUnless = (isLeft: boolean): void => {
    if (!isLeft) throw new PlatformError("limit", "too many attempts from this address", { hint: "try again in a minute" });
  };
  return {
    take: (address, now) => refuseUnless(buckets.take(clientNetwork(address), [1], now)),
    check: (address, now) => refuseUnless(buckets.has(clientNetwork(address), [1], now)),
  };
}

interface RequestLimitOptions extends RateLimitOptions {
  /** Monotonic milliseconds. */
  readonly clock: () => number;
}

/** Maximum number of clients. */
const maxClients = 10_000;

/** A bucket of requests for each client address, which refills over time. */
export class RequestLimit {
  readonly #clock: () => number;
  readonly #buckets: Buckets;

  constructor({ perMinute, burst, clock }: RequestLimitOptions) {
    this.#clock = clock;
    this.#buckets = Buckets.ofAtMost(maxClients, { perSecond: perMinute / 60, burst });
  }

  /** Takes one request from the client's bucket; returns false when it is empty. */
  take(socket: Socket): boolean {
    return this.#buckets.take(clientNetwork(socket.remoteAddress ?? "unknown"), [1], new Date(this.#clock()));
  }
}

/** Network of an address with or without a port: an IPv6 /64 is one network, since it usually belongs to one client. */
export function clientNetwork(peer: string): string {
  return networkOf(peer, 4);
}

/** The networks that one client may have, as one: a home or an office gets an IPv6 /56 or /48. */
export function clientSite(peer: string): string {
  return networkOf(peer, 3);
}

/** The first groups of an IPv6 address, or a whole IPv4 address. */
function networkOf(peer: string, groups: number): string {
  const address = canonicalIp(isIP(peer) === 0 ? peer.replace(/:\d+$/, "").replace(/^\[(.*)\]$/, "$1") : peer);
  if (!isIPv6(address)) return address;
  const [head = "", tail] = address.split("::");
  const front = head.split(":").filter((part) => part !== "");
  const back = (tail ?? "").split(":").filter((part) => part !== "");
  const zeros = tail === undefined ? [] : Array.from({ length: Math.max(0, 8 - front.length - back.length) }, () => "0");
  return [...front, ...zeros, ...back].slice(0, groups).join(":");
}
