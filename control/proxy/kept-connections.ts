import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * Connections that clients keep for what they ask next. Agents leave a proxy that another process has replaced, so nothing new is to be asked there: answers end
 * their connection from then on, idle connections are closed, and the clients' next ones are to the new process.
 */
export class KeptConnections {
  readonly #retired: () => boolean;
  readonly #closers = new Set<() => void>();

  /** `retired`: another process has taken over. */
  constructor(retired: () => boolean) {
    this.#retired = retired;
  }

  /** Another process has taken over. */
  get retired(): boolean {
    return this.#retired();
  }

  /** `closeIdle` closes connections that are idle when it is called. Returns the function that undoes this. */
  add(closeIdle: () => void): () => void {
    this.#closers.add(closeIdle);
    return () => void this.#closers.delete(closeIdle);
  }

  /** Connections of a server of HTTP/1.1, for as long as it lives. */
  addServer(server: Server): void {
    // Browsers open connections ahead of their requests, and Node does not count those as idle.
    const unused = new Set<Socket>();
    const use = ({ socket }: IncomingMessage): void => void unused.delete(socket);
    server.on("connection", (socket: Socket) => {
      unused.add(socket);
      socket.once("close", () => unused.delete(socket));
    });
    server.prependListener("upgrade", use);
    server.prependListener("request", (request: IncomingMessage, response: ServerResponse) => {
      use(request);
      if (this.#retired()) response.shouldKeepAlive = false;
    });
    this.add(() => {
      server.closeIdleConnections();
      for (const socket of unused) socket.destroy();
    });
  }

  /** Closes those that are idle now. A retired proxy calls it periodically: others become idle as their answers end. */
  closeIdle(): void {
    for (const close of this.#closers) close();
  }
}
