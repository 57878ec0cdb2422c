import { createServer, type Socket } from "node:net";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import { formatHostPort, type HostPort } from "../../../core/transport/host-port.ts";

export interface Listener {
  /** As bound: the port is real where 0 was asked for. */
  readonly address: HostPort;
  /** Takes no more connections; those that exist stay. */
  close(): Promise<void>;
}

export interface ListenOptions {
  readonly address: HostPort;
  readonly log: Log;
  /** Connections at one time; more are closed as they come. */
  readonly maxConnections: number;
  /** Every socket has an error listener already and is paused. */
  readonly onSocket: (socket: Socket) => void;
}

/** A TCP listener that survives errors of accept(2), such as EMFILE. Throws `unavailable` when the address cannot be bound. */
export function listen(options: ListenOptions): Promise<Listener> {
  const { address, log } = options;
  const server = createServer({ noDelay: true, keepAlive: true, keepAliveInitialDelay: 15_000, pauseOnConnect: true, allowHalfOpen: true });
  server.maxConnections = options.maxConnections;
  server.on("connection", (socket) => {
    socket.on("error", (error) => log.debug("connection broke", { peer: peerAddress(socket), error: error.message }));
    options.onSocket(socket);
  });
  return new Promise((resolve, reject) => {
    const refuse = (cause: NodeJS.ErrnoException): void => {
      const hint = cause.code === "EADDRINUSE" ? "another program listens there; change the address in /etc/platform.yaml" : undefined;
      reject(new PlatformError("unavailable", `cannot listen on ${formatHostPort(address)}: ${errorText(cause)}`, { cause, hint }));
    };
    server.once("error", refuse);
    server.listen({ host: address.host, port: address.port, backlog: 4096 }, () => {
      server.off("error", refuse);
      server.on("error", (error) => log.warn("a connection could not be accepted", { listener: formatHostPort(address), error }));
      server.on("drop", () => log.debug("a connection was dropped: too many", { listener: formatHostPort(address) }));
      const bound = server.address();
      const port = typeof bound === "object" && bound !== null ? bound.port : address.port;
      resolve({ address: { host: address.host, port }, close: async () => void server.close() });
    });
  });
}

/** `ip:port` of the other end, IPv4 without the IPv6 wrapping. */
export function peerAddress(socket: Socket): string {
  const host = (socket.remoteAddress ?? "unknown").replace(/^::ffff:(?=\d+\.)/, "");
  return formatHostPort({ host, port: socket.remotePort ?? 0 });
}
