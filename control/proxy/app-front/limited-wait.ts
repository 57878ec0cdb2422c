import { PlatformError } from "../../../core/errors/platform-error.ts";

export interface WaitLimits {
  /** Time limit, ms. */
  readonly ms: number;
  /** The error after that time. */
  readonly late: () => PlatformError;
  /** Aborted when the client has left. */
  readonly left?: AbortSignal | undefined;
}

/** Limits of one wait: its time, and the client's patience. Dispose of it when the wait is over. */
export class LimitedWait implements Disposable {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #left: AbortSignal | undefined;
  readonly #leave = (): void => this.#controller.abort(new PlatformError("unavailable", "the client has left"));

  constructor({ ms, late, left }: WaitLimits) {
    this.#timer = setTimeout(() => this.#controller.abort(late()), ms);
    this.#left = left;
    if (left?.aborted) this.#leave();
    else left?.addEventListener("abort", this.#leave, { once: true });
  }

  /** Aborted at the limit; its reason is the PlatformError to throw. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#left?.removeEventListener("abort", this.#leave);
  }
}
