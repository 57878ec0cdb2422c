import type { Socket } from "node:net";
import { Buckets } from "./buckets.ts";
import { clientNetwork } from "./client-network.ts";

export interface RequestLimitOptions {
  readonly perMinute: number;
  readonly burst: number;
  /** Monotonic milliseconds. */
  readonly clock: () => number;
}

/** Maximum number of clients. */
const maxClients = 10_000;

/** A bucket of requests for each client address, which refills over time. */
export class RequestLimit {
  readonly #clock: () => number;
  readonly #buckets: Buckets;
  /** Read once for each connection. */
  readonly #clients = new WeakMap<Socket, string>();

  constructor({ perMinute, burst, clock }: RequestLimitOptions) {
    this.#clock = clock;
    this.#buckets = Buckets.ofAtMost(maxClients, { perSecond: perMinute / 60, burst });
  }

  /** Takes one request from the client's bucket; returns false when it is empty. */
  take(socket: Socket): boolean {
    const client = this.#clients.get(socket) ?? clientNetwork(socket.remoteAddress ?? "unknown");
    this.#clients.set(socket, client);
    return this.#buckets.take(client, [1], new Date(this.#clock()));
  }
}
