import type { Socket } from "node:net";
import { clientNetwork } from "./client-network.ts";

export interface RequestLimitOptions {
  readonly perMinute: number;
  readonly burst: number;
  /** Monotonic milliseconds. */
  readonly clock: () => number;
}

interface Bucket {
  left: number;
  at: number;
}

/** Maximum number of clients; the oldest one is forgotten first, which gives it a full bucket. */
const maxClients = 10_000;

/** A bucket of requests for each client address, which refills over time. Cheap: it is used for every request. */
export class RequestLimit {
  readonly #options: RequestLimitOptions;
  readonly #clients = new Map<string, Bucket>();
  readonly #sockets = new WeakMap<Socket, Bucket>();

  constructor(options: RequestLimitOptions) {
    this.#options = options;
  }

  /** Takes one request from the client's bucket; returns false when it is empty. */
  take(socket: Socket): boolean {
    const { perMinute, burst, clock } = this.#options;
    const bucket = this.#sockets.get(socket) ?? this.#meet(socket);
    const now = clock();
    bucket.left = Math.min(burst, bucket.left + ((now - bucket.at) / 60_000) * perMinute);
    bucket.at = now;
    if (bucket.left < 1) return false;
    bucket.left -= 1;
    return true;
  }

  #meet(socket: Socket): Bucket {
    const client = clientNetwork(socket.remoteAddress ?? "unknown");
    const bucket = this.#clients.get(client) ?? { left: this.#options.burst, at: this.#options.clock() };
    this.#clients.set(client, bucket);
    this.#sockets.set(socket, bucket);
    for (const first of this.#clients.keys()) {
      if (this.#clients.size <= maxClients) break;
      this.#clients.delete(first);
    }
    return bucket;
  }
}
