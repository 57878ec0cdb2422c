import { lookup } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import type { TargetPolicy } from "../../core/config/app-service.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { checkedLookup, type Resolve, usuallyDenied } from "../../core/transport/checked-lookup.ts";
import { IpSet } from "../../core/transport/ip-prefix.ts";

/** The addresses at which this agent may reach applications: decided by the configuration file; resources of the cluster cannot change it. */
export interface Targets {
  /** Throws `denied` for an address, or a name for an address, that is outside. */
  check(host: string): void;
  /** Resolves names, and fails with `denied` when one leads outside: the answer that is checked is the one that is used. */
  readonly lookup: LookupFunction;
  /** Whether an application of the cluster may be at this socket. */
  allowsSocket(path: string): boolean;
}

export function appTargets({ allow, deny, unix }: TargetPolicy, resolve: Resolve = lookup): Targets {
  const allowed = allow === undefined ? undefined : new IpSet(allow);
  const denied = new IpSet(deny ?? usuallyDenied);
  const isInside = (address: string): boolean => (allowed === undefined ? !denied.has(address) : allowed.has(address));
  return {
    check: (host) => {
      if (isIP(host) !== 0 && !isInside(host)) throw outside(host);
    },
    lookup: checkedLookup({ isInside, outside }, resolve),
    allowsSocket: (path) => unix.includes(path),
  };
}

function outside(host: string): PlatformError {
  return new PlatformError("denied", `the agent may not connect to ${host}: its app_service.target_policy does not allow the address`);
}
