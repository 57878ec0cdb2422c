import { type LookupAddress, type LookupOptions, lookup } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import type { TargetPolicy } from "../../core/config/app-service.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { IpSet } from "../../core/transport/ip-prefix.ts";

/** Link-local addresses, with the metadata services of clouds on them, and the metadata services elsewhere. */
export const usuallyDenied: readonly string[] = ["169.254.0.0/16", "fe80::/10", "fd00:ec2::254/128", "100.100.100.200/32", "168.63.129.16/32"];

/** Where this agent may reach applications: the file's decision, which no resource of the cluster can change. */
export interface Targets {
  /** Throws `denied` for an address, or a name for an address, that is outside. */
  check(host: string): void;
  /** Resolves names, and fails with `denied` when one leads outside: the answer that is checked is the one that is used. */
  readonly lookup: LookupFunction;
  /** Whether an application of the cluster may be at this socket. */
  allowsSocket(path: string): boolean;
}

type Resolve = (
  host: string,
  options: LookupOptions & { all: true },
  done: (error: NodeJS.ErrnoException | null, found: LookupAddress[]) => void,
) => void;

export function appTargets({ allow, deny, unix }: TargetPolicy, resolve: Resolve = lookup): Targets {
  const allowed = allow === undefined ? undefined : new IpSet(allow);
  const denied = new IpSet(deny ?? usuallyDenied);
  const isInside = (address: string): boolean => (allowed === undefined ? !denied.has(address) : allowed.has(address));
  return {
    check: (host) => {
      if (isIP(host) !== 0 && !isInside(host)) throw outside(host);
    },
    lookup: (host, options, done) => {
      resolve(host, { ...options, all: true }, (error, found) => {
        if (error !== null) return done(error, []);
        const inside = found.filter(({ address }) => isInside(address));
        const [first] = inside;
        if (first === undefined) return done(outside(host), []);
        if (options.all === true) return done(null, inside);
        return done(null, first.address, first.family);
      });
    },
    allowsSocket: (path) => unix.includes(path),
  };
}

function outside(host: string): PlatformError {
  return new PlatformError("denied", `the agent may not connect to ${host}: its app_service.target_policy does not allow the address`);
}
