import { PlatformError } from "../../../core/errors/platform-error.ts";

/** The lease of one connection of a user, valid until it expires. */
export interface Lease {
  readonly id: string;
  /** The host that serves the connection. */
  readonly host: string;
  /** RFC 3339. */
  readonly expires: string;
}

export interface LeaseAsk {
  readonly user: string;
  readonly id: string;
  readonly host: string;
  readonly maximum: number;
  readonly now: Date;
}

/** Duration of a lease, seconds. A host renews it three times in this time; a dead agent keeps its users' leases for as long. */
export const leaseSeconds = 60;

/** The leases with one taken or renewed. Throws `limit` at the maximum. Pure. */
export function takeLease(leases: readonly Lease[], { user, id, host, maximum, now }: LeaseAsk): readonly Lease[] {
  const others = leasesInForce(leases, now).filter((lease) => lease.id !== id || lease.host !== host);
  if (others.length >= maximum) {
    const count = maximum === 1 ? "1 connection" : `${maximum} connections`;
    throw new PlatformError("limit", `access denied: connection limit reached: ${user} already has ${count} to this cluster (max_connections)`, {
      hint: "close another connection first; one of a lost host counts for a minute",
    });
  }
  return [...others, { id, host, expires: new Date(now.getTime() + leaseSeconds * 1000).toISOString() }];
}

/** Pure. */
export function leasesInForce(leases: readonly Lease[], now: Date): readonly Lease[] {
  return leases.filter(({ expires }) => new Date(expires) > now);
}
