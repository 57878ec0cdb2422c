import { type LookupAddress, type LookupOptions, lookup } from "node:dns";
import type { LookupFunction } from "node:net";

/** Link-local addresses, with the metadata services of most clouds on them, and the metadata services elsewhere. An IpSet has the other forms of an IPv4 address too. */
export const usuallyDenied: readonly string[] = [
  "169.254.0.0/16",
  "fe80::/10",
  // AWS: services of an instance, at IPv4 link-local addresses besides (169.254.169.254; ECS .170.2, EKS .170.23).
  "fd00:ec2::/32",
  // Google.
  "fd20:ce::254/128",
  // Azure.
  "168.63.129.16/32",
  // Alibaba.
  "100.100.100.200/32",
  // Oracle.
  "192.0.0.192/32",
  // Scaleway.
  "fd00:42::42/128",
];

export type Resolve = (
  host: string,
  options: LookupOptions & { all: true },
  done: (error: NodeJS.ErrnoException | null, found: LookupAddress[]) => void,
) => void;

export interface LookupCheck {
  readonly isInside: (address: string) => boolean;
  /** The failure for a name of which no address is inside. */
  readonly outside: (host: string) => Error;
}

/** Resolves names to the addresses that are inside: the answer that is checked is the one that is used. */
export function checkedLookup({ isInside, outside }: LookupCheck, resolve: Resolve = lookup): LookupFunction {
  return (host, options, done) => {
    resolve(host, { ...options, all: true }, (error, found) => {
      if (error !== null) return done(error, []);
      const inside = found.filter(({ address }) => isInside(address));
      const [first] = inside;
      if (first === undefined) return done(outside(host), []);
      if (options.all === true) return done(null, inside);
      return done(null, first.address, first.family);
    });
  };
}
