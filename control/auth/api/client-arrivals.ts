import { createServer, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { errorText, PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import { listenError } from "../../../core/transport/arrivals/listen.ts";
import { canonicalIp } from "../../../core/transport/canonical-ip.ts";
import type { HostPort } from "../../../core/transport/host-port.ts";
import { keepAlive } from "../../../core/transport/keep-alive.ts";
import type { ListenSockets } from "../../../core/transport/listen-sockets.ts";
import { readFrame } from "../../../core/transport/read-frame.ts";
import { decodeRelayHeader, maxRelayHeader } from "../../../core/transport/relay-header.ts";
import type { AuthContext } from "../auth-context.ts";
import { requireHost } from "../inventory/host-records.ts";
import type { Caller } from "./caller.ts";

/* The two ways in which connections of clients arrive: at the service's own port, and relayed by a proxy on another host. */

export interface TcpListener {
  /** The address with the actual port. */
  readonly address: HostPort;
  /** Stops accepting connections; open ones stay. */
  close(): Promise<void>;
}

interface TcpListening {
  readonly sockets: ListenSockets;
  readonly log: Log;
  readonly take: (socket: Socket, remoteAddress: string) => void;
}

/** Throws `unavailable` when it cannot listen on the port. */
export async function listenTcp(address: HostPort, { sockets, log, take }: TcpListening): Promise<TcpListener> {
  const server = createServer({ noDelay: true }, (socket) => take(keepAlive(socket), canonicalIp(socket.remoteAddress ?? "")));
  try {
    const bound = await sockets.listen(server, { purpose: "auth", ...address });
    server.on("error", (error) => log.warn("the API listener failed", { error: errorText(error) }));
    // Not awaited by the callback: it is called once the last open connection has ended.
    return { address: bound, close: async () => void server.close() };
  } catch (cause) {
    throw listenError(address, cause, "auth_service.listen_addr");
  }
}

export interface Relayed {
  readonly context: AuthContext;
  /** Certificate of the proxy. */
  readonly remoteAddress: string;
  /** Accepts the client's own TLS. */
  readonly accept: (stream: Duplex, remoteAddress: string) => void;
}

/** Time limit of the header, ms. */
const headerMs = 10_000;

/**
 * Serves a client relayed by a proxy on another host. The client's address in the header is trusted because a proxy's certificate vouches for it.
 * Never throws.
 */
export async function takeRelayed(tls: TLSSocket, peer: Caller | PlatformError, { context, remoteAddress, accept }: Relayed): Promise<void> {
  try {
    if (peer instanceof PlatformError) throw peer;
    if (peer.kind !== "host" || peer.identity.role !== "proxy") throw new PlatformError("denied", "only proxies may relay clients");
    await requireHost(context.storage, "proxy", peer.identity.id);
    const header = await readFrame(tls, { maxLength: maxRelayHeader, timeoutMs: headerMs, what: "relay header" });
    accept(tls, decodeRelayHeader(header).clientAddress);
  } catch (thrown) {
    const error = toPlatformError(thrown);
    context.log.info("relayed connection refused", { peer: remoteAddress, code: error.code, error });
    tls.destroy();
  }
}
