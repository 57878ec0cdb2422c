import { PlatformError } from "../../../core/errors/platform-error.ts";

/** One connection of a user that counts until it expires. */
export interface Lease {
  readonly id: string;
  /** The host that serves it. */
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

/** A host renews three times in this time: so long an agent that died keeps its users' places. Seconds. */
export const leaseSeconds = 60;

/** The leases with one taken or renewed. Throws `limit` when there are as many as there may be. Pure. */
export function takeLease(leases: readonly Lease[], { user, id, host, maximum, now }: LeaseAsk): readonly Lease[] {
  const others = leasesInForce(leases, now).filter((lease) => lease.id !== id || lease.host !== host);
  if (others.length >= maximum) {
    const count = maximum === 1 ? "1 connection" : `${maximum} connections`;
    throw new PlatformError("limit", `access denied: ${user} has ${count} to this cluster, and may not have more (max_connections)`, {
      hint: "end another one first; one whose host was lost counts for a minute",
    });
  }
  return [...others, { id, host, expires: new Date(now.getTime() + leaseSeconds * 1000).toISOString() }];
}

/** Pure. */
export function leasesInForce(leases: readonly Lease[], now: Date): readonly Lease[] {
  return leases.filter(({ expires }) => new Date(expires) > now);
}
