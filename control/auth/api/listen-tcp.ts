import { createServer, type Socket } from "node:net";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import { formatHostPort, type HostPort } from "../../../core/transport/host-port.ts";
import type { ListenSockets } from "../../../core/transport/listen-sockets.ts";

export interface TcpListener {
  /** The address with the actual port. */
  readonly address: HostPort;
  /** Stops accepting connections; open ones stay. */
  close(): Promise<void>;
}

export interface TcpListening {
  readonly sockets: ListenSockets;
  readonly log: Log;
  readonly take: (socket: Socket, remoteAddress: string) => void;
}

/** Throws `unavailable` when it cannot listen on the port. */
export async function listenTcp(address: HostPort, { sockets, log, take }: TcpListening): Promise<TcpListener> {
  const server = createServer({ noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 }, (socket) =>
    take(socket, socket.remoteAddress ?? ""),
  );
  try {
    const bound = await sockets.listen(server, { purpose: "auth", ...address });
    server.on("error", (error) => log.warn("the API listener failed", { error: errorText(error) }));
    // Not awaited by the callback: it is called once the last open connection has ended.
    return { address: bound, close: async () => void server.close() };
  } catch (cause) {
    const message = `could not listen on ${formatHostPort(address)}: ${errorText(cause)}`;
    throw new PlatformError("unavailable", message, {
      cause,
      hint: "check whether another program uses this port, or change auth_service.listen_addr",
    });
  }
}
