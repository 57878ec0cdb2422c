import type { Grant } from "../../core/access/authorize.ts";
import type { AuthClient } from "../../core/api/auth-client.ts";
import { errorText, PlatformError, toPlatformError } from "../../core/errors/platform-error.ts";
import type { Log } from "../../core/log/log.ts";

export interface LeaseSources {
  readonly lease: TakeLease;
  readonly shares: UserShares;
}

/** The share of one connection in its user's limits: on this host, and in the cluster. */
export class HeldLeases {
  readonly #sources: LeaseSources;
  readonly #connectionId: string;
  readonly #leases: ConnectionLease[] = [];
  readonly #shares: (() => void)[] = [];
  #isOver = false;

  constructor(sources: LeaseSources, connectionId: string) {
    this.#sources = sources;
    this.#connectionId = connectionId;
  }

  /** Undefined where roles set no limit. Throws `limit`, and as TakeLease does. */
  async take({ maxConnections: maximum, identity }: Pick<Grant, "maxConnections" | "identity">): Promise<ConnectionLease | undefined> {
    // A connection may try to log in more than once.
    if (this.#shares.length === 0 && !this.#isOver) this.#shares.push(this.#sources.shares.take(identity.name));
    if (maximum === undefined) return undefined;
    const lease = await this.#sources.lease({ user: identity.name, id: this.#connectionId, maximum });
    // The client may have disconnected.
    if (this.#isOver) await lease.release();
    else this.#leases.push(lease);
    return lease;
  }

  /** The connection has ended. Never throws. */
  async release(): Promise<void> {
    this.#isOver = true;
    for (const release of this.#shares.splice(0)) release();
    await Promise.all(this.#leases.map((lease) => lease.release()));
  }
}

interface LeaseRequest {
  readonly user: string;
  readonly id: string;
  /** Maximum concurrent connections of the user in the whole cluster. */
  readonly maximum: number;
}

/** One of the connections that a user may have in the whole cluster. */
export interface ConnectionLease {
  /** Called once when the lease is lost: it could not be renewed for too long, and other connections took all leases. */
  onLost(listener: (why: PlatformError) => void): void;
  /** Releases the lease. Never throws: a lease that cannot be released expires. */
  release(): Promise<void>;
}

export type TakeLease = (ask: LeaseRequest) => Promise<ConnectionLease>;

interface LeaseDeps {
  readonly client: () => Promise<Pick<AuthClient, "holdConnection" | "releaseConnection">>;
  readonly log: Log;
  /** Default: a third of the time for which a lease is valid. */
  readonly renewMs?: number;
}

/**
 * Leases of connections from the auth service, renewed while they are held. While it cannot be reached a connection goes on:
 * no other connection gets a lease then either. Throws `limit`, or `unavailable` when there is no answer.
 */
export function openLeases({ client, log, renewMs }: LeaseDeps): TakeLease {
  return async ({ user, id: connectionId, maximum }) => {
    const ask = { user, connectionId, maximum };
    const { validSeconds } = await take(client, ask);
    let lost: PlatformError | undefined;
    let tell: (why: PlatformError) => void = () => {};
    const renew = async (): Promise<void> => {
      try {
        await (await client()).holdConnection(ask);
      } catch (thrown) {
        const why = toPlatformError(thrown);
        if (why.code !== "limit") return log.debug("could not renew the lease of a connection", { error: thrown });
        clearInterval(timer);
        lost = why;
        tell(why);
      }
    };
    const timer = setInterval(() => void renew(), renewMs ?? (validSeconds * 1000) / 3);
    return {
      onLost: (listener) => {
        tell = listener;
        if (lost !== undefined) listener(lost);
      },
      release: async () => {
        clearInterval(timer);
        try {
          await (await client()).releaseConnection({ user, connectionId });
        } catch (thrown) {
          log.debug("could not release the lease of a connection: it expires by itself", { error: errorText(thrown) });
        }
      },
    };
  };
}

async function take(client: LeaseDeps["client"], ask: { user: string; connectionId: string; maximum: number }): Promise<{ validSeconds: number }> {
  try {
    return await (await client()).holdConnection(ask);
  } catch (thrown) {
    const cause = toPlatformError(thrown);
    if (cause.code === "limit") throw cause;
    throw new PlatformError("unavailable", "access denied: this host could not ask the auth service for the number of connections", {
      cause,
      hint: "try again in a moment",
    });
  }
}

/** Maximum connections of one user: half of the streams that this host serves. */
const connectionsOfUser = 500;

/** Connections of each user to this host. */
export class UserShares {
  readonly #counts = new Map<string, number>();

  /** Counts one connection until the function that it returns is called, once. Throws `limit`. The proxy counts connections too. */
  take(user: string): () => void {
    const count = this.#counts.get(user) ?? 0;
    if (count >= connectionsOfUser) {
      throw new PlatformError("limit", `access denied: ${user} already has ${connectionsOfUser} connections to this host (limit per user)`, {
        hint: "end some of them first",
      });
    }
    this.#counts.set(user, count + 1);
    return () => this.#release(user);
  }

  #release(user: string): void {
    const count = (this.#counts.get(user) ?? 0) - 1;
    if (count > 0) this.#counts.set(user, count);
    else this.#counts.delete(user);
  }
}
