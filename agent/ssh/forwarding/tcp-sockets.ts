import { connect, createServer, type Server, type Socket } from "node:net";

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
