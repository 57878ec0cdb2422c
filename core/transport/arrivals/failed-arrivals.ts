import type { Log } from "../../log/log.ts";

/** One line in this time, however many fail, ms. */
const everyMs = 60_000;

/** Connections that ended before anybody had shown who it is: counted, because anybody can make any number of them. */
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

  /** To call now and then: what was counted since the last line. */
  tell(): void {
    const now = this.#clock();
    if (this.#untold === 0 || now - this.#toldAt < everyMs) return;
    this.#log.info("connections ended before anybody logged in", { count: this.#untold, ...this.#last });
    this.#toldAt = now;
    this.#untold = 0;
  }
}
