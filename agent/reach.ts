import type { Duplex } from "node:stream";
import type { PlatformError } from "../core/errors/platform-error.ts";

/** How users reach this host: through tunnels to proxies, or at a port of its own. */
export interface Reach {
  /** Number of tunnels that still carry new streams. */
  readonly tunnels: number;
  /** Whether users can reach it now. */
  readonly isConnected: boolean;
  /** Why it is not connected: the last attempt's error; undefined while it is, or before one has failed. */
  readonly problem: PlatformError | undefined;
  /** A byte stream to the auth service; undefined where this mode has none. */
  openAuth(): Promise<Duplex> | undefined;
  /** Reports the host's current status to the cluster. */
  tell(): void;
  /** Another process serves this host from now on: serves the streams that still arrive, and resolves when the last one has ended. */
  retire(): Promise<void>;
  /** Refuses new streams, and resolves when all of them have ended; `force` ends them now. */
  stop(force: AbortSignal): Promise<void>;
}
