import type { Duplex } from "node:stream";

/** How people reach this host: through tunnels to proxies, or at a port of its own. */
export interface Reach {
  /** Tunnels through which streams still come. */
  readonly tunnels: number;
  /** People can reach it now. */
  readonly isConnected: boolean;
  /** A byte stream to the auth service; undefined when there is none on this way. */
  openAuth(): Promise<Duplex> | undefined;
  /** Tells the cluster what the host says of itself now. */
  tell(): void;
  /** Another process serves this host from now on: serves what came before that was known, and resolves when the last stream has ended. */
  retire(): Promise<void>;
  /** Takes no more streams, and resolves when all of them have ended; `force` ends them now. */
  stop(force: AbortSignal): Promise<void>;
}
