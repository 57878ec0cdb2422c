import { PlatformError } from "../../../core/errors/platform-error.ts";

export interface WaitLimits {
  /** Time limit, ms. */
  readonly ms: number;
  /** The error after that time. */
  readonly late: () => PlatformError;
  /** Aborted when the client has left. */
  readonly left?: AbortSignal | undefined;
}

/** Limits of one wait: a time, and the client's presence. The time begins when `signal` is first read. Dispose of it when the wait is over. */
export class LimitedWait implements Disposable {
  readonly #limits: WaitLimits;
  #begun: { readonly controller: AbortController; readonly timer: NodeJS.Timeout } | undefined;
  readonly #leave = (): void => this.#begun?.controller.abort(new PlatformError("unavailable", "the client has left"));

  constructor(limits: WaitLimits) {
    this.#limits = limits;
  }

  /** Aborted at the limit; its reason is the PlatformError to throw. */
  get signal(): AbortSignal {
    if (this.#begun !== undefined) return this.#begun.controller.signal;
    const { ms, late, left } = this.#limits;
    const controller = new AbortController();
    this.#begun = { controller, timer: setTimeout(() => controller.abort(late()), ms) };
    if (left?.aborted) this.#leave();
    else left?.addEventListener("abort", this.#leave, { once: true });
    return controller.signal;
  }

  [Symbol.dispose](): void {
    if (this.#begun === undefined) return;
    clearTimeout(this.#begun.timer);
    this.#limits.left?.removeEventListener("abort", this.#leave);
  }
}
