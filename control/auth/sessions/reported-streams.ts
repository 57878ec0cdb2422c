import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { AuthContext } from "../auth-context.ts";
import { changeLeases, type Lease, leaseSeconds, readLeases } from "./stored-leases.ts";

/*
 * A host gets a lease only for a connection that a proxy has sent to it: else one host could hold the leases of users who have never connected to it.
 */

const prefix = "/connection_stream/";

/** Maximum streams of one user that are known at a time. */
const maxOfUser = 5_000;

/** A stream of a user whose roles limit connections. */
export interface ReportedStream {
  readonly user: string;
  /** Id of the host. */
  readonly host: string;
  /** Id of the connection. */
  readonly id: string;
}

/** Records a proxy's open streams; each record lasts as long as a lease. Throws `limit` when a user has too many. */
export async function reportStreams(context: AuthContext, streams: readonly ReportedStream[]): Promise<void> {
  const byUser = Map.groupBy(streams, ({ user }) => user);
  await Promise.all(
    [...byUser].map(async ([user, own]) => {
      await changeLeases(context, { prefix, user }, (known, now) => withReported(known, own, now));
    }),
  );
}

/** Pure. Throws `limit`. */
function withReported(known: readonly Lease[], streams: readonly ReportedStream[], now: Date): readonly Lease[] {
  const expires = new Date(now.getTime() + leaseSeconds * 1000).toISOString();
  const all = new Map(known.map((lease) => [`${lease.host} ${lease.id}`, lease]));
  for (const { id, host } of streams) all.set(`${host} ${id}`, { id, host, expires });
  if (all.size > maxOfUser) throw new PlatformError("limit", `a user has more than ${maxOfUser} connections`);
  return [...all.values()];
}

/**
 * Throws `denied` for a connection that none of the proxies has reported. While a connected proxy does not report, as one of the version before, hosts are
 * believed.
 */
export async function requireReported(context: AuthContext, { user, host, id }: ReportedStream): Promise<void> {
  const { proxies, streamReporters } = context;
  if (!streamReporters.include(proxies.connected())) return;
  const known = await readLeases(context, { prefix, user });
  if (known.some((stream) => stream.id === id && stream.host === host)) return;
  throw new PlatformError("denied", `access denied: no proxy has sent this connection of ${user} to this host`, { hint: "try again in a moment" });
}
