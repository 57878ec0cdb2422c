import type { ClientHello } from "../../core/transport/arrivals/client-hello.ts";
import type { ArrivedSocket } from "../../core/transport/arrivals/listen.ts";
import { peek, turnAway } from "../../core/transport/arrivals/peek.ts";
import { type NewConnection, type ReceiveServices, receiveSocket, type Serve } from "./receive-socket.ts";

/** A connection at the front door: its first bytes were peeked at, but not consumed. */
export interface Arrival extends NewConnection {
  readonly hello: ClientHello;
}

/** Owns the socket from this call on. A rejection is logged and ends the connection. */
export type Handler = (arrival: Arrival) => Promise<void>;

/** ALPN name → handler. */
export type HandlerTable = ReadonlyMap<string, Handler>;

export interface FrontDoorOptions extends ReceiveServices {
  readonly table: HandlerTable;
  readonly web: Handler;
  /** For clients of PostgreSQL, which begin without TLS. */
  readonly postgres: Serve;
}

/** Time limit of the first message, ms. */
const peekMs = 10_000;

/** Accepts a connection to the web port that came inside another one. Never rejects. */
export async function receive(socket: ArrivedSocket, options: FrontDoorOptions): Promise<void> {
  await receiveSocket(socket, { port: "web" }, options, (connection) => openDoor(connection, options));
}

/** Passes a new connection to the web port to the handler of its protocol. Throws what that throws, `invalid`, `timeout` or `unavailable`. */
export async function openDoor(connection: NewConnection, { table, web, postgres, signal }: FrontDoorOptions): Promise<void> {
  const peeked = await peek(connection.socket, { timeoutMs: peekMs, signal });
  if (peeked.speaks === "postgres") return await postgres(connection);
  if (peeked.speaks !== "tls") return turnAway(connection.socket, peeked.speaks, words);
  await chooseHandler(peeked.hello.alpn, table, web)({ ...connection, hello: peeked.hello });
}

/** Handler of the first offered name in the table; a client that offers none of them gets the web server. */
function chooseHandler(offered: readonly string[], table: HandlerTable, web: Handler): Handler {
  for (const name of offered) {
    const handler = table.get(name);
    if (handler !== undefined) return handler;
  }
  return web;
}

const words = {
  ssh: "This port speaks TLS. Use `tsh ssh`, `tsh proxy ssh` as ProxyCommand, or the proxy's SSH port.",
  http: "This port speaks TLS. Use https:// in the address.",
};
