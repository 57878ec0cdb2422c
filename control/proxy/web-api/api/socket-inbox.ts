import type { RawData, WebSocket } from "ws";
import { PlatformError } from "../../../../core/errors/platform-error.ts";

export interface SocketMessage {
  readonly isBinary: boolean;
  readonly data: Buffer;
}

/**
 * Messages of a WebSocket in their order. While nobody takes them the browser is not read: what has come by then is kept, one read of the connection at most.
 */
export class SocketInbox {
  readonly #socket: WebSocket;
  readonly #kept: SocketMessage[] = [];
  #take: ((message: SocketMessage) => void) | undefined;
  #isHeld = false;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on("message", (data: RawData, isBinary: boolean) => {
      // Binary messages are single buffers unless another type was asked for.
      this.#kept.push({ isBinary, data: data as Buffer });
      this.#deliver();
    });
  }

  /** The next message. Throws `timeout`, which names `what`, and the signal's reason. */
  async next(timeoutMs: number, { what, signal }: { readonly what: string; readonly signal: AbortSignal }): Promise<SocketMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<SocketMessage>();
    const timer = setTimeout(() => reject(new PlatformError("timeout", `the browser sent no ${what} within ${timeoutMs / 1000} s`)), timeoutMs);
    const onAbort = (): void => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    this.follow((message) => {
      this.#take = undefined;
      resolve(message);
    });
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      this.#take = undefined;
    }
  }

  /** Gives every message to `take` from now on. */
  follow(take: (message: SocketMessage) => void): void {
    this.#take = take;
    this.#deliver();
  }

  /** Reads on, and forgets what comes: the end of a WebSocket is a message too. */
  forget(): void {
    this.#isHeld = false;
    this.follow(() => {});
  }

  /** Takes nothing more until `release`. */
  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    this.#isHeld = false;
    this.#deliver();
  }

  #deliver(): void {
    while (this.#take !== undefined && !this.#isHeld) {
      const message = this.#kept.shift();
      if (message === undefined) break;
      this.#take(message);
    }
    if (this.#kept.length > 0) this.#socket.pause();
    else if (this.#take !== undefined && !this.#isHeld) this.#socket.resume();
  }
}
