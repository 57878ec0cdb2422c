import { createServer, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { errorText, PlatformError } from "../../errors/platform-error.ts";
import type { Log } from "../../log/log.ts";
import { gatherPieces } from "../../node-internals/gather-pieces.ts";
import { canonicalIp } from "../canonical-ip.ts";
import { errorCode } from "../dial/connection-error.ts";
import { formatHostPort, type HostPort } from "../host-port.ts";
import { keepAlive } from "../keep-alive.ts";
import type { ListenSockets } from "../listen-sockets.ts";

export interface Listener {
  /** As bound, with the actual port where 0 was requested. */
  readonly address: HostPort;
  /** Stops accepting connections; existing ones stay. */
  close(): Promise<void>;
}

export interface ListenOptions {
  readonly address: HostPort;
  /** Purpose of the listener: the process that takes over finds it by this name and its address. */
  readonly purpose: string;
  readonly sockets: ListenSockets;
  readonly log: Log;
  /** Maximum concurrent connections; further ones are closed on arrival. */
  readonly maxConnections: number;
  /** Every socket has an error listener already and is paused. Its remote address is as `canonicalIp` writes it. */
  readonly onSocket: (socket: Socket) => void;
}

/** A TCP listener that survives errors of accept(2), such as EMFILE. Throws `unavailable` when the address cannot be bound. */
export async function listen(options: ListenOptions): Promise<Listener> {
  const { address, log, purpose } = options;
  const server = createServer({ noDelay: true, pauseOnConnect: true, allowHalfOpen: true });
  server.maxConnections = options.maxConnections;
  /** One listener for all sockets. */
  function onError(this: Socket, error: Error): void {
    log.debug("connection broke", { peer: peerAddress(this), error: error.message });
  }
  server.on("connection", (socket) => {
    gatherPieces(keepAlive(socket)).on("error", onError);
    const { remoteAddress = "", remotePort } = socket;
    const canonical = canonicalIp(remoteAddress);
    if (canonical !== remoteAddress) setPeer(socket, { remoteAddress: canonical, remotePort });
    options.onSocket(socket);
  });
  try {
    const bound = await options.sockets.listen(server, { purpose, ...address, backlog: 4096 });
    server.on("error", (error) => log.warn("could not accept a connection", { listener: formatHostPort(address), error }));
    server.on("drop", () => log.debug("dropped a connection: too many", { listener: formatHostPort(address) }));
    return { address: bound, close: async () => void server.close() };
  } catch (cause) {
    throw listenError(address, cause);
  }
}

const listenFaults: Readonly<Record<string, readonly [why: string, hint: string]>> = {
  EADDRINUSE: ["another program listens there", "end it, or set another port (to find it: ss -ltnp)"],
  EADDRNOTAVAIL: ["this host does not have the address", "use one that `ip address` lists, or 0.0.0.0 for all"],
  EAFNOSUPPORT: ["IPv6 is disabled on this host", "use an IPv4 address, or 0.0.0.0 for all"],
  ENOTFOUND: ["the name does not exist", "use an address that `ip address` lists, or 0.0.0.0 for all"],
  EACCES: ["this user may not use the port", "run as root, allow it (CAP_NET_BIND_SERVICE), or use a port from 1024 on"],
};

/** The error of an address that could not be bound; `setting` is its name in the configuration. */
export function listenError(address: HostPort, cause: unknown, setting?: string): PlatformError {
  const [why, hint] = listenFaults[errorCode(cause)] ?? [errorText(cause), undefined];
  const place = setting === undefined ? "" : `${setting}: `;
  return new PlatformError("unavailable", `${place}could not listen on ${formatHostPort(address)}: ${why}`, { cause, hint });
}

/** A new connection: a socket, or a stream inside one that came as a connection upgrade, with the addresses of that one. */
export type ArrivedSocket = Duplex & Pick<Partial<Socket>, "remoteAddress" | "remotePort">;

/** `ip:port` of the other end, as `canonicalIp` writes it. */
export function peerAddress(socket: Pick<ArrivedSocket, "remoteAddress" | "remotePort">): string {
  return formatHostPort({ host: canonicalIp(socket.remoteAddress ?? "unknown"), port: socket.remotePort ?? 0 });
}

/** Gives a connection the address of the client behind a balancer, for all who look at it later. */
export function setPeer(socket: ArrivedSocket, { remoteAddress, remotePort }: Pick<ArrivedSocket, "remoteAddress" | "remotePort">): void {
  const fixed = { configurable: true, enumerable: true };
  Object.defineProperties(socket, { remoteAddress: { value: remoteAddress, ...fixed }, remotePort: { value: remotePort, ...fixed } });
}
