import type { Socket } from "node:net";
import type { ClientHello } from "../../../core/transport/arrivals/client-hello.ts";

/** A connection at the front door: its first bytes are known and still unread. */
export interface Arrival {
  readonly socket: Socket;
  /** `ip:port` of the peer. */
  readonly peer: string;
  readonly hello: ClientHello;
  /** To be called once the peer has shown who it is: until then the connection may be dropped for a newer one. */
  readonly established: () => void;
}

/** Owns the socket from the call on. A rejection is logged and ends the connection. */
export type Handler = (arrival: Arrival) => Promise<void>;

/** ALPN name → handler. */
export type HandlerTable = ReadonlyMap<string, Handler>;

/** By the first offered name that the table has; a client that offers none of them speaks to the web. */
export function chooseHandler(offered: readonly string[], table: HandlerTable, web: Handler): Handler {
  for (const name of offered) {
    const handler = table.get(name);
    if (handler !== undefined) return handler;
  }
  return web;
}
