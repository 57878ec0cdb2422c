import { createHash } from "node:crypto";
import { z } from "zod";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Storage } from "../../storage/storage.ts";
import type { AuthContext } from "../auth-context.ts";

const storedSchema = z.array(z.strictObject({ id: z.string(), host: z.string(), expires: z.string() }));

/** Retries of a write: two processes of control may write one user's leases at the same time. */
const tries = 20;

/**
 * Takes one of a user's connection leases, or renews it: stored, so that a restart loses none. Resolves
 * to the lease's duration, seconds; throws `limit`.
 */
export async function holdConnection(context: AuthContext, ask: Omit<LeaseAsk, "now">): Promise<number> {
  await change(context, ask.user, (leases, now) => takeLease(leases, { ...ask, now }));
  return leaseSeconds;
}

export async function releaseConnection(context: AuthContext, ask: Pick<LeaseAsk, "user" | "id" | "host">): Promise<void> {
  await change(context, ask.user, (leases) => leases.filter(({ id, host }) => id !== ask.id || host !== ask.host));
}

type Next = (leases: readonly Lease[], now: Date) => readonly Lease[];

async function change({ storage, connectionQueues, now }: AuthContext, user: string, next: Next): Promise<void> {
  const key = `/connection/${createHash("sha256").update(user).digest("hex")}`;
  await connectionQueues(user, async () => {
    for (let left = tries; left > 0; left -= 1) if (await tryChange(storage, key, { next, now: now() })) return;
    throw new PlatformError("unavailable", "too many concurrent changes of this user's connections", { hint: "try again shortly" });
  });
}

/** False when another process wrote meanwhile. */
async function tryChange(storage: Storage, key: string, { next, now }: { next: Next; now: Date }): Promise<boolean> {
  const stored = await storage.get(key);
  const leases = next(leasesInForce(stored === undefined ? [] : storedSchema.parse(JSON.parse(stored.value)), now), now);
  if (leases.length === 0 && stored === undefined) return true;
  const expires = new Date(Math.max(0, ...leases.map((lease) => new Date(lease.expires).getTime())));
  const expect = stored === undefined ? "absent" : { revision: stored.revision };
  try {
    if (leases.length === 0) await storage.delete(key, expect);
    else await storage.put({ key, value: JSON.stringify(leases), expires, expect });
    return true;
  } catch (thrown) {
    const lost = thrown instanceof PlatformError && (thrown.code === "conflict" || thrown.code === "already_exists" || thrown.code === "not_found");
    if (lost) return false;
    throw thrown;
  }
}

/** The lease of one connection of a user, valid until it expires. */
export interface Lease {
  readonly id: string;
  /** The host that serves the connection. */
  readonly host: string;
  /** RFC 3339. */
  readonly expires: string;
}

interface LeaseAsk {
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
