import { createServer, type Socket } from "node:net";
import { errorText, PlatformError } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import { formatHostPort, type HostPort } from "../../../core/transport/host-port.ts";

export interface TcpListener {
  /** With the port that it got. */
  readonly address: HostPort;
  /** Takes no more connections; open ones stay. */
  close(): Promise<void>;
}

/** Throws `unavailable` when the port cannot be had. */
export function listenTcp(address: HostPort, take: (socket: Socket, remoteAddress: string) => void, log: Log): Promise<TcpListener> {
  const server = createServer({ noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 }, (socket) =>
    take(socket, socket.remoteAddress ?? ""),
  );
  return new Promise((resolve, reject) => {
    const refuse = (cause: Error): void => {
      const message = `cannot listen on ${formatHostPort(address)}: ${errorText(cause)}`;
      reject(new PlatformError("unavailable", message, { cause, hint: "is another program on this port? see auth_service.listen_addr" }));
    };
    server.once("error", refuse);
    server.listen({ host: address.host, port: address.port }, () => {
      server.off("error", refuse).on("error", (error) => log.warn("the API listener failed", { error: errorText(error) }));
      const bound = server.address();
      const port = typeof bound === "object" && bound !== null ? bound.port : address.port;
      // Not awaited by the callback: that comes once the last open connection has ended.
      const close = async (): Promise<void> => void server.close();
      resolve({ address: { host: address.host, port }, close });
    });
  });
}
