import type { Grant } from "../../core/access/authorize.ts";
import type { ConnectionLease, TakeLease } from "./connection-lease.ts";
import type { UserShares } from "./user-shares.ts";

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
