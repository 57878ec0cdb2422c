import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { AuthContext } from "../auth-context.ts";
import { requireReported } from "./reported-streams.ts";
import { changeLeases, type Lease, leaseSeconds, leasesInForce } from "./stored-leases.ts";

const prefix = "/connection/";

/**
 * Takes one of a user's connection leases, or renews it: stored, so that a restart loses none. Resolves
 * to the lease's duration, seconds; throws `limit`, and `denied` for a connection that no proxy knows of.
 */
export async function holdConnection(context: AuthContext, ask: Omit<LeaseAsk, "now">): Promise<number> {
  await requireReported(context, ask);
  await changeLeases(context, { prefix, user: ask.user }, (leases, now) => takeLease(leases, { ...ask, now }));
  return leaseSeconds;
}

export async function releaseConnection(context: AuthContext, ask: Pick<LeaseAsk, "user" | "id" | "host">): Promise<void> {
  await changeLeases(context, { prefix, user: ask.user }, (leases) => leases.filter(({ id, host }) => id !== ask.id || host !== ask.host));
}

interface LeaseAsk {
  readonly user: string;
  readonly id: string;
  readonly host: string;
  readonly maximum: number;
  readonly now: Date;
}

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
