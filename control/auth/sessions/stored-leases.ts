import { createHash } from "node:crypto";
import { z } from "zod";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Storage } from "../../storage/storage.ts";
import type { AuthContext } from "../auth-context.ts";

/* Leases of a user's connections, one record for each user. */

/** The lease of one connection of a user, valid until it expires. */
export interface Lease {
  readonly id: string;
  /** The host that serves the connection. */
  readonly host: string;
  /** RFC 3339. */
  readonly expires: string;
}

/** Duration of a lease, seconds. It is renewed three times in this time; a dead agent keeps its users' leases for as long. */
export const leaseSeconds = 60;

const storedSchema = z.array(z.strictObject({ id: z.string(), host: z.string(), expires: z.string() }));

/** Retries of a write: two processes of control may write one user's leases at the same time. */
const tries = 20;

type Next = (leases: readonly Lease[], now: Date) => readonly Lease[];
type Context = Pick<AuthContext, "storage" | "connectionQueues" | "now">;

export interface LeasesOf {
  /** Of the key, with slashes around it. */
  readonly prefix: string;
  readonly user: string;
}

/** Resolves once the leases in force have been replaced by the next ones, and these are durable. Throws what `next` throws, and `unavailable`. */
export async function changeLeases({ storage, connectionQueues, now }: Context, of: LeasesOf, next: Next): Promise<void> {
  await connectionQueues(of.user, async () => {
    for (let left = tries; left > 0; left -= 1) if (await tryChange(storage, keyOf(of), { next, now: now() })) return;
    throw new PlatformError("unavailable", "too many concurrent changes of this user's connections", { hint: "try again shortly" });
  });
}

export async function readLeases({ storage, now }: Pick<Context, "storage" | "now">, of: LeasesOf): Promise<readonly Lease[]> {
  const stored = await storage.get(keyOf(of));
  return stored === undefined ? [] : leasesInForce(storedSchema.parse(JSON.parse(stored.value)), now());
}

function keyOf({ prefix, user }: LeasesOf): string {
  return `${prefix}${createHash("sha256").update(user).digest("hex")}`;
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

/** Pure. */
export function leasesInForce(leases: readonly Lease[], now: Date): readonly Lease[] {
  return leases.filter(({ expires }) => new Date(expires) > now);
}
