import type { Log } from "../../log/log.ts";

/** The required part of a socket. */
export interface HalfOpenSocket {
  readonly remoteAddress?: string | undefined;
  destroy(): unknown;
  on(event: "close", listener: (this: HalfOpenSocket) => void): unknown;
}

/**
 * Connections that have not authenticated yet. Beyond the limit the oldest of the address that has most of them is dropped: any
 * number of silent connections costs bounded memory, and blocks only clients of the same address.
 */
export class HalfOpen {
  readonly #limit: number;
  readonly #addresses = new Map<HalfOpenSocket, string>();
  /** Connections in order of arrival. */
  readonly #byAddress = new Map<string, Set<HalfOpenSocket>>();
  /** One listener for all sockets. */
  readonly #onClose: (this: HalfOpenSocket) => void;
  dropped = 0;

  constructor(limit: number) {
    this.#limit = limit;
    const leave = (socket: HalfOpenSocket): void => this.leave(socket);
    this.#onClose = function forget() {
      leave(this);
    };
  }

  get size(): number {
    return this.#addresses.size;
  }

  /** `address`: the address it counts for; default: its remote address. */
  enter(socket: HalfOpenSocket, address = socket.remoteAddress ?? ""): void {
    const own = this.#byAddress.get(address) ?? new Set();
    this.#addresses.set(socket, address);
    this.#byAddress.set(address, own.add(socket));
    socket.on("close", this.#onClose);
    if (this.#addresses.size > this.#limit) this.#drop(this.#largest(own));
  }

  /** Makes room below the limit: drops the oldest of the address that has most. False if there is none. */
  makeRoom(): boolean {
    return this.#drop(this.#largest(new Set()));
  }

  #drop([oldest]: Iterable<HalfOpenSocket>): boolean {
    if (oldest === undefined) return false;
    this.leave(oldest);
    this.dropped += 1;
    oldest.destroy();
    return true;
  }

  /** Called when the peer has authenticated, was passed to a server with its own limits, or has disconnected. */
  leave(socket: HalfOpenSocket): void {
    const address = this.#addresses.get(socket);
    if (address === undefined) return;
    this.#addresses.delete(socket);
    const own = this.#byAddress.get(address);
    own?.delete(socket);
    if (own?.size === 0) this.#byAddress.delete(address);
  }

  /** Connections of one address; `newest` when no other has more. */
  #largest(newest: ReadonlySet<HalfOpenSocket>): ReadonlySet<HalfOpenSocket> {
    let found = newest;
    for (const own of this.#byAddress.values()) if (own.size > found.size) found = own;
    return found;
  }
}

/** Minimum time between log lines, ms. */
const everyMs = 60_000;

/** Counts connections that ended before authentication, because anyone can make any number of them. */
export class FailedArrivals {
  readonly #log: Pick<Log, "info">;
  readonly #clock: () => number;
  #toldAt = Number.NEGATIVE_INFINITY;
  #untold = 0;
  #last = { peer: "", error: "" };

  constructor(deps: { readonly log: Pick<Log, "info">; readonly clock: () => number }) {
    this.#log = deps.log;
    this.#clock = deps.clock;
  }

  add(peer: string, error: string): void {
    this.#untold += 1;
    this.#last = { peer, error };
    this.tell();
  }

  /** Call periodically: logs the count since the last line. */
  tell(): void {
    const now = this.#clock();
    if (this.#untold === 0 || now - this.#toldAt < everyMs) return;
    this.#log.info("connections ended before authentication", { count: this.#untold, ...this.#last });
    this.#toldAt = now;
    this.#untold = 0;
  }
}
