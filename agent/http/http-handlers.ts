import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { ClientAnswer, ClientRequest, WholeResponse } from "./exchange.ts";

/** How a service answers what comes over one connection of a user. */
export interface HttpHandlers {
  /** Serves one request. Never throws. */
  exchange(asked: ClientRequest, answer: ClientAnswer): Promise<void>;
  /** Serves a request for another protocol; the connection of HTTP/1.1 carries nothing else from then on. Never throws. */
  upgrade(request: IncomingMessage, socket: Duplex): Promise<void>;
  /** Whether a request with this value of `Upgrade` is one for another protocol; any other is served as if it had none. Default: all but h2c. Pure. */
  takesUpgrade?(value: string | undefined): boolean;
  /** The response to a message that cannot be read as a request. Pure. */
  refusal(status: number, message: string): WholeResponse;
  /** Called once for a connection on which a message could not be read as a request, with what is wrong with it. It ends then. */
  unread?(status: number, why: string): void;
}

/** Limits of one connection of a user. */
export interface ConnectionLimits {
  /** Time until the first request is complete, ms. */
  readonly firstMs: number;
  /** Time for which a connection without a request is kept, ms. */
  readonly idleMs: number;
  /** Exchanges that it may have open: requests that wait for their responses in HTTP/1.1, streams in HTTP/2. */
  readonly maxExchanges: number;
}

export const usualLimits: ConnectionLimits = { firstMs: 20_000, idleMs: 120_000, maxExchanges: 100 };
/** Maximum size of a request's fields, bytes. */
export const maxHead = 64 * 1024;
