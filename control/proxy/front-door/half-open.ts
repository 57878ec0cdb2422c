import type { Socket } from "node:net";

/**
 * Connections that have not yet shown who they are. Beyond the limit the oldest is dropped, so that any number of silent
 * connections costs bounded memory and none of them keeps an honest one out.
 */
export class HalfOpen {
  readonly #limit: number;
  /** In order of arrival. */
  readonly #sockets = new Set<Socket>();
  /** One listener for all sockets. */
  readonly #onClose: (this: Socket) => void;
  dropped = 0;

  constructor(limit: number) {
    this.#limit = limit;
    const sockets = this.#sockets;
    this.#onClose = function forget() {
      sockets.delete(this);
    };
  }

  get size(): number {
    return this.#sockets.size;
  }

  enter(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("close", this.#onClose);
    if (this.#sockets.size <= this.#limit) return;
    const [oldest] = this.#sockets;
    if (oldest === undefined) return;
    this.#sockets.delete(oldest);
    this.dropped += 1;
    oldest.destroy();
  }

  /** The peer has shown who it is, or was handed to a server with limits of its own. */
  leave(socket: Socket): void {
    this.#sockets.delete(socket);
  }
}
