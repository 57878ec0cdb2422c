import type { Log } from "../../log/log.ts";

/** Minimum time between log lines, ms. */
const everyMs = 60_000;

/** Counts connections that ended before authentication, because anyone can make any number of them. */
export class FailedArrivals {
  readonly #log: Pick<Log, "info">;
  readonly #clock: () => number;
  #toldAt = Number.NEGATIVE_INFINITY;
  #untold = 0;
  #last = { peer: "", error: "" };

  constructor(deps: { readonly log: Pick<Log, "info">; readonly clock: () => number }) {
    this.#log = deps.log;
    this.#clock = deps.clock;
  }

  add(peer: string, error: string): void {
    this.#untold += 1;
    this.#last = { peer, error };
    this.tell();
  }

  /** Call periodically: logs the count since the last line. */
  tell(): void {
    const now = this.#clock();
    if (this.#untold === 0 || now - this.#toldAt < everyMs) return;
    this.#log.info("connections ended before authentication", { count: this.#untold, ...this.#last });
    this.#toldAt = now;
    this.#untold = 0;
  }
}
