import type { Grant } from "../../../core/access/authorize.ts";
import type { HeldConnection, HoldConnection } from "./hold-connection.ts";
import { requireShare } from "./user-limits.ts";

/** The places that one connection has taken, where its user's connections are limited. */
export class HeldPlaces {
  readonly #hold: HoldConnection;
  /** Of the connection. */
  readonly #id: string;
  readonly #held: HeldConnection[] = [];
  #isOver = false;

  constructor(hold: HoldConnection, id: string) {
    this.#hold = hold;
    this.#id = id;
  }

  /** Undefined where roles set no limit. Throws `limit`, and as HoldConnection does. */
  async take({ maxConnections: maximum, identity }: Pick<Grant, "maxConnections" | "identity">): Promise<HeldConnection | undefined> {
    requireShare(identity.name);
    if (maximum === undefined) return undefined;
    const held = await this.#hold({ user: identity.name, id: this.#id, maximum });
    // Several attempts may be under way, and the client may be gone.
    if (this.#isOver) await held.release();
    else this.#held.push(held);
    return held;
  }

  /** The connection has ended. Never throws. */
  async release(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#held.map((held) => held.release()));
  }
}
