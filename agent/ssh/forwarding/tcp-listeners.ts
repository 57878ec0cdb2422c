import type { Socket } from "node:net";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { systemText } from "../../service/system-text.ts";
import type { TcpListener, TcpSockets } from "./tcp-sockets.ts";

/** Like sshd's `GatewayPorts no`: only this host itself can connect, for any requested address. */
const loopbacks = ["127.0.0.1", "::1"] as const;
/** Attempts to find a port that is free on both. */
const mostTries = 8;

/** Listens on both loopback addresses; port 0 chooses one. At least one must work. Throws `unavailable`. */
export async function listenOnLoopback(
  sockets: Pick<TcpSockets, "listen">,
  port: number,
  arrived: (socket: Socket, port: number) => void,
): Promise<TcpListener> {
  for (let tries = 1; ; tries += 1) {
    const on = (host: string, wanted: number): Promise<TcpListener | NodeJS.ErrnoException> =>
      sockets.listen({ host, port: wanted }, (socket) => arrived(socket, chosen)).catch(systemError);
    let chosen = port;
    const first = await on(loopbacks[0], port);
    if (!isError(first)) chosen = first.port;
    const second = await on(loopbacks[1], chosen);
    if (!isError(second)) chosen = second.port;
    const listeners = [first, second].filter((one): one is TcpListener => !isError(one));
    const close = (): void => {
      for (const listener of listeners) listener.close();
    };
    // A host without IPv6 has one; a port in use on the other address would lead to another program.
    const isTaken = [first, second].some((one) => isError(one) && one.code === "EADDRINUSE");
    if (listeners.length > 0 && !isTaken) return { port: chosen, close };
    close();
    if (port !== 0 || !isTaken || tries === mostTries) throw new PlatformError("unavailable", systemText([first, second].find(isError)));
  }
}

function isError(value: unknown): value is NodeJS.ErrnoException {
  return value instanceof Error;
}

function systemError(thrown: unknown): NodeJS.ErrnoException {
  return thrown as NodeJS.ErrnoException;
}
