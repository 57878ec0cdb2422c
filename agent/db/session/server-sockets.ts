import type { Socket } from "node:net";
import type { DbAddress } from "../../../core/resources/db.ts";
import type { Database } from "../database.ts";
import { dialServer } from "../server-road.ts";

export interface ServerSocketsOptions {
  readonly database: Database;
  /** Of the session: once it is aborted, no connection is opened. */
  readonly signal: AbortSignal;
  /** Called when the server could not be reached, unless the session was over. */
  readonly onUnreached: () => void;
}

/** Connections of one session to servers. They end with it, also those that its engine has forgotten. */
export class ServerSockets {
  readonly #options: ServerSocketsOptions;
  readonly #open = new Set<Socket>();

  constructor(options: ServerSocketsOptions) {
    this.#options = options;
  }

  /** Default address: the database's first one. Throws `unavailable`, and the reason of the session's end. */
  async dial(address?: DbAddress): Promise<Socket> {
    const { database, signal, onUnreached } = this.#options;
    signal.throwIfAborted();
    const socket = await dialServer(database, address ?? database.addresses[0], signal).catch((thrown: unknown) => {
      if (!signal.aborted) onUnreached();
      throw thrown;
    });
    if (signal.aborted) socket.destroy();
    signal.throwIfAborted();
    this.#open.add(socket);
    return socket.once("close", () => this.#open.delete(socket));
  }

  destroy(): void {
    for (const socket of this.#open) socket.destroy();
  }
}
