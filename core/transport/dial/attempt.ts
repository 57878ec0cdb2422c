import type { Socket } from "node:net";
import { PlatformError } from "../../errors/platform-error.ts";

export interface AttemptOptions {
  /** Total timeout, ms; default 10,000. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** The life of one attempt to connect: one time limit for all its steps, and the caller's signal. */
export class Attempt implements Disposable {
  /** Object of the current wait, for the message of a timeout. */
  waitingFor = "the connection";
  /** An alternative route, for the hint of a timeout. */
  instead: string | undefined;
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #outer: AbortSignal | undefined;
  readonly #stop = (): void => {
    this.#controller.abort(new PlatformError("unavailable", `stopped while waiting for ${this.waitingFor}`));
  };

  constructor(options: AttemptOptions) {
    const limit = options.timeoutMs ?? 10_000;
    this.#timer = setTimeout(() => {
      const firewall = "check the address, and that no firewall on the way drops the packets";
      const hint = this.instead === undefined ? firewall : `${firewall}; ${this.instead}`;
      this.#controller.abort(new PlatformError("timeout", `${this.waitingFor} did not come within ${limit / 1000} s`, { hint }));
    }, limit);
    this.#outer = options.signal;
    if (this.#outer?.aborted) this.#stop();
    else this.#outer?.addEventListener("abort", this.#stop, { once: true });
  }

  /** Aborted when the attempt is over; its reason is the PlatformError to throw. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Resolves at the event; throws the error that ended the socket, or the attempt, before it. */
  next(socket: Socket, event: "connect" | "secureConnect" | "readable"): Promise<void> {
    const { signal } = this.#controller;
    return new Promise((resolve, reject) => {
      const settle = (act: () => void): void => {
        socket.off(event, done).off("error", failed).off("end", ended).off("close", ended);
        signal.removeEventListener("abort", aborted);
        act();
      };
      const done = (): void => settle(resolve);
      const failed = (error: Error): void => settle(() => reject(error));
      const ended = (): void => settle(() => reject(socket.errored ?? new ConnectionClosed()));
      const aborted = (): void => settle(() => reject(signal.reason));
      if (signal.aborted) aborted();
      else if (socket.destroyed || socket.readableEnded) ended();
      else {
        socket.on(event, done).on("error", failed).on("end", ended).on("close", ended);
        signal.addEventListener("abort", aborted);
      }
    });
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener("abort", this.#stop);
  }
}

/** The peer ended the connection before the awaited event. */
class ConnectionClosed extends Error {
  readonly code = "CONNECTION_CLOSED";

  constructor() {
    super("the connection was closed");
  }
}

/** Keeps a socket's late errors from ending the process while it has no other listener. */
export function ignoreError(): void {}
