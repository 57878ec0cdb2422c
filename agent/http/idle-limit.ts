import type { ConnectionLimits } from "./http-handlers.ts";

type Waits = Pick<ConnectionLimits, "firstMs" | "idleMs">;

/** Ends a connection on which no request is open for too long. */
export class IdleLimit {
  readonly #waits: Waits;
  readonly #onIdle: () => void;
  #timer: NodeJS.Timeout | undefined;
  #open = 0;
  #isOver = false;

  constructor(waits: Waits, onIdle: () => void) {
    this.#waits = waits;
    this.#onIdle = onIdle;
    this.#timer = setTimeout(onIdle, waits.firstMs);
  }

  /** Requests without a complete response. */
  get open(): number {
    return this.#open;
  }

  /** A request has begun; the result is called at its end, once. */
  begin(): () => void {
    this.#open += 1;
    clearTimeout(this.#timer);
    return () => {
      this.#open -= 1;
      if (this.#open > 0 || this.#isOver) return;
      clearTimeout(this.#timer);
      this.#timer = setTimeout(this.#onIdle, this.#waits.idleMs);
    };
  }

  /** Removes the limit. */
  stop(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }
}
