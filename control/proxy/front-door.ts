import { toPlatformError } from "../../core/errors/platform-error.ts";
import type { Log } from "../../core/log/log.ts";
import type { ClientHello } from "../../core/transport/arrivals/client-hello.ts";
import type { FailedArrivals, HalfOpen } from "../../core/transport/arrivals/half-open.ts";
import { type ArrivedSocket, peerAddress, setPeer } from "../../core/transport/arrivals/listen.ts";
import { type PeekOptions, peek, readStart, turnAway } from "../../core/transport/arrivals/peek.ts";
import { parseProxyHeader } from "../../core/transport/arrivals/proxy-header.ts";
import { ipOf } from "../../core/transport/host-port.ts";
import type { IpSet } from "../../core/transport/ip-prefix.ts";

/** A connection at the front door: its first bytes were peeked at, but not consumed. */
export interface Arrival {
  readonly socket: ArrivedSocket;
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

export interface FrontDoorOptions {
  readonly table: HandlerTable;
  readonly web: Handler;
  /** For clients of PostgreSQL, which begin without TLS. */
  readonly postgres: (arrival: Omit<Arrival, "hello">) => Promise<void>;
  /** Balancers whose connections begin with a header of the PROXY protocol; left out: none. */
  readonly balancers?: Pick<IpSet, "has"> | undefined;
  readonly halfOpen: HalfOpen;
  readonly failed: FailedArrivals;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Time limit of the first message, ms. */
const peekMs = 10_000;

/** Accepts a new connection to the web port and passes it to the handler of its protocol. Never rejects. */
export async function receive(socket: ArrivedSocket, options: FrontDoorOptions): Promise<void> {
  const { halfOpen, log, signal, balancers } = options;
  let peer = peerAddress(socket);
  halfOpen.enter(socket);
  try {
    if (balancers?.has(ipOf(peer)) === true) {
      await takeProxyHeader(socket, { timeoutMs: peekMs, signal });
      peer = peerAddress(socket);
      // From now on it is one of the client's.
      halfOpen.leave(socket);
      halfOpen.enter(socket);
    }
    const peeked = await peek(socket, { timeoutMs: peekMs, signal });
    const established = (): void => halfOpen.leave(socket);
    if (peeked.speaks === "postgres") return await options.postgres({ socket, peer, established });
    if (peeked.speaks !== "tls") return turnAway(socket, peeked.speaks, words);
    const handler = chooseHandler(peeked.hello.alpn, options.table, options.web);
    await handler({ socket, peer, hello: peeked.hello, established });
  } catch (thrown) {
    const error = toPlatformError(thrown);
    log[error.code === "internal" ? "error" : "debug"]("connection ended", { peer, code: error.code, error });
    options.failed.add(peer, error.message);
    socket.destroy();
  }
}

/** Reads the header, and gives the socket the client's address. Throws `invalid`, `timeout` or `unavailable`. */
async function takeProxyHeader(socket: ArrivedSocket, options: PeekOptions): Promise<void> {
  const client = await readStart(socket, options, (bytes) => {
    const header = parseProxyHeader(bytes);
    return header && { value: header.client, used: header.length };
  });
  if (client !== undefined) setPeer(socket, { remoteAddress: client.host, remotePort: client.port });
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
