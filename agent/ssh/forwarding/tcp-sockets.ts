import { connect, createServer, type Server, type Socket } from "node:net";
import { getSystemErrorMap } from "node:util";
import { PlatformError } from "../../../core/errors/platform-error.ts";

export interface TcpAddress {
  /** An IP address, not a name. */
  readonly host: string;
  readonly port: number;
}

export interface TcpListener {
  /** The actual port, also where 0 was requested. */
  readonly port: number;
  close(): void;
}

/** Source of the TCP sockets of one SSH connection. Both methods throw Error with the system's `code`. */
export interface TcpSockets {
  /** Connected, half-open allowed, paused. */
  connect(address: TcpAddress, gone: AbortSignal): Promise<Socket>;
  /** Listens; `arrived` gets each connection, paused, half-open allowed. */
  listen(address: TcpAddress, arrived: (socket: Socket) => void): Promise<TcpListener>;
  /** Ends the listeners; connections stay. */
  close(): void;
}

/** Timeout of one connection, ms. */
export const connectMs = 20_000;

/** For an agent that runs as the user itself. */
export class OwnTcp implements TcpSockets {
  readonly #servers = new Set<Server>();

  connect({ host, port }: TcpAddress, gone: AbortSignal): Promise<Socket> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host, port, allowHalfOpen: true, noDelay: true });
      const fail = (error: Error): void => {
        settle();
        socket.on("error", () => {}).destroy();
        reject(error);
      };
      const late = (): void => fail(timedOut());
      const abort = (): void => fail(new Error("the client disconnected"));
      const timer = setTimeout(late, connectMs);
      const settle = (): void => {
        clearTimeout(timer);
        gone.removeEventListener("abort", abort);
        socket.off("error", fail);
      };
      gone.addEventListener("abort", abort, { once: true });
      socket.once("error", fail).once("connect", () => {
        settle();
        resolve(socket.pause());
      });
      if (gone.aborted) abort();
    });
  }

  listen({ host, port }: TcpAddress, arrived: (socket: Socket) => void): Promise<TcpListener> {
    return new Promise((resolve, reject) => {
      const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true }, arrived);
      server.once("error", reject).listen({ host, port, ipv6Only: host.includes(":"), backlog: 128 }, () => {
        server.on("error", () => {});
        this.#servers.add(server);
        const bound = server.address();
        const close = (): void => {
          this.#servers.delete(server);
          server.close();
        };
        resolve({ port: typeof bound === "object" && bound !== null ? bound.port : port, close });
      });
    });
  }

  close(): void {
    for (const server of this.#servers) server.close();
    this.#servers.clear();
  }
}

export function timedOut(): Error {
  return Object.assign(new Error("Connection timed out"), { code: "ETIMEDOUT" });
}

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

/** Messages where libuv differs from the C library, whose texts sshd(8) sends. */
const ownTexts: Readonly<Record<string, string>> = {
  EHOSTUNREACH: "No route to host",
  ENOTFOUND: "Name or service not known",
  EAI_NONAME: "Name or service not known",
  EAI_AGAIN: "Temporary failure in name resolution",
  EADDRINUSE: "Address already in use",
};

/** Error of a failed system call, in the words of strerror(3). */
export function systemText(thrown: unknown): string {
  const { code, errno } = thrown as { code?: unknown; errno?: unknown };
  if (typeof code === "string" && ownTexts[code] !== undefined) return ownTexts[code];
  const text = typeof errno === "number" ? getSystemErrorMap().get(errno)?.[1] : undefined;
  if (text !== undefined) return text.charAt(0).toUpperCase() + text.slice(1);
  return thrown instanceof Error ? thrown.message : String(thrown);
}
