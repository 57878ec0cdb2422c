import type { Socket } from "node:net";
import type { ClientHello } from "../../../core/transport/arrivals/client-hello.ts";

/** A connection at the front door: its first bytes were peeked at, but not consumed. */
export interface Arrival {
  readonly socket: Socket;
  /** `ip:port` of the peer. */
  readonly peer: string;
  readonly hello: ClientHello;
  /** Call this once the peer is authenticated: until then the connection may be dropped for a newer one. */
  readonly established: () => void;
}

/** Owns the socket from this call on. A rejection is logged and ends the connection. */
export type Handler = (arrival: Arrival) => Promise<void>;

/** ALPN name → handler. */
export type HandlerTable = ReadonlyMap<string, Handler>;

/** Handler of the first offered name in the table; a client that offers none of them gets the web server. */
export function chooseHandler(offered: readonly string[], table: HandlerTable, web: Handler): Handler {
  for (const name of offered) {
    const handler = table.get(name);
    if (handler !== undefined) return handler;
  }
  return web;
}
