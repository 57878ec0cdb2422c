import { toPlatformError } from "../../core/errors/platform-error.ts";
import type { Log } from "../../core/log/log.ts";
import type { FailedArrivals, HalfOpen } from "../../core/transport/arrivals/half-open.ts";
import { type ArrivedSocket, peerAddress, setPeer } from "../../core/transport/arrivals/listen.ts";
import { type PeekOptions, readStart } from "../../core/transport/arrivals/peek.ts";
import { parseProxyHeader } from "../../core/transport/arrivals/proxy-header.ts";
import { ipOf } from "../../core/transport/host-port.ts";
import type { IpSet } from "../../core/transport/ip-prefix.ts";

/** A new connection to one of the proxy's ports. */
export interface NewConnection<Stream extends ArrivedSocket = ArrivedSocket> {
  readonly socket: Stream;
  /** `ip:port` of the client; behind a balancer, the address that the balancer states. */
  readonly peer: string;
  /** Call this once the peer is authenticated, or may use the resource that it came for: until then the connection may be dropped for a newer one. */
  readonly established: () => void;
}

/** Owns the socket from its call on. A rejection is logged and ends the connection. */
export type Serve<Stream extends ArrivedSocket = ArrivedSocket> = (connection: NewConnection<Stream>) => Promise<void>;

export interface ReceiveOptions {
  /** Purpose of the port, for the log. */
  readonly port: string;
  /** Balancers whose connections begin with a header of the PROXY protocol; left out: none. */
  readonly balancers?: Pick<IpSet, "has"> | undefined;
}

export interface ReceiveServices {
  readonly halfOpen: HalfOpen;
  readonly failed: FailedArrivals;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Time limit of a balancer's header, ms. */
const headerMs = 10_000;

/** Serves a new connection; one from a balancer counts as its client's. Never rejects. */
export async function receiveSocket<Stream extends ArrivedSocket>(
  socket: Stream,
  { port, balancers }: ReceiveOptions,
  { halfOpen, failed, log, signal }: ReceiveServices,
  serve: Serve<Stream>,
): Promise<void> {
  let peer = peerAddress(socket);
  halfOpen.enter(socket);
  try {
    if (balancers?.has(ipOf(peer)) === true) {
      await takeProxyHeader(socket, { timeoutMs: headerMs, signal });
      peer = peerAddress(socket);
      // From now on it is one of the client's.
      halfOpen.leave(socket);
      halfOpen.enter(socket);
    }
    await serve({ socket, peer, established: () => halfOpen.leave(socket) });
  } catch (thrown) {
    const error = toPlatformError(thrown);
    log[error.code === "internal" ? "error" : "debug"]("connection ended", { peer, port, code: error.code, error });
    failed.add(peer, error.message);
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
