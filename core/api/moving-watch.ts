import { setTimeout as sleep } from "node:timers/promises";
import { backOffDelay, failuresAfter } from "../transport/back-off.ts";

export interface MovingWatchOptions {
  /** One watch, until it ends or the signal. It calls `onUp` once it is answered, and passes nothing on after the signal. */
  readonly watch: (signal: AbortSignal, onUp: () => void) => Promise<void>;
  /** The watch that was up has ended, and no other one is. */
  readonly onDown: () => void;
  /** A watch has ended, and the next one begins in `retryMs`. `thrown` is undefined if the auth service ended it without an error. */
  readonly onRetry: (facts: { readonly thrown: unknown; readonly retryMs: number }) => void;
  /** Monotonic clock, ms. */
  readonly clock: () => number;
}

/**
 * A watch of the auth service that begins again, with back-off, whenever it ends. It moves to another connection without a gap: the next one is answered
 * before the one before is ended. The auth service counts a host as gone once it has no watch of it.
 */
export class MovingWatch {
  readonly #options: MovingWatchOptions;
  /** Ends the watch that is answered. */
  #up: AbortController | undefined;
  #move: () => void = () => {};

  constructor(options: MovingWatchOptions) {
    this.#options = options;
  }

  get isUp(): boolean {
    return this.#up !== undefined;
  }

  /** Calls go over another connection from now on. */
  move(): void {
    this.#move();
  }

  /** Until the signal, and the end of every watch. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, onRetry } = this.#options;
    const running = new Set<Promise<unknown>>();
    let failures = 0;
    while (!signal.aborted) {
      const began = clock();
      const moved = Promise.withResolvers<"moved">();
      this.#move = () => moved.resolve("moved");
      const end = new AbortController();
      const watching = this.#begin(signal, end);
      running.add(watching);
      void watching.then(() => running.delete(watching));
      const ended = await Promise.race([watching, moved.promise]);
      if (ended === "moved") {
        // Without an answer there is nothing to keep.
        if (this.#up !== end) end.abort();
        continue;
      }
      if (signal.aborted) break;
      failures = failuresAfter(failures, clock() - began);
      const retryMs = backOffDelay(failures, Math.random());
      onRetry({ ...ended, retryMs });
      await sleep(retryMs, undefined, { signal }).catch(() => {});
    }
    await Promise.all(running);
  }

  /** Never rejects. */
  async #begin(signal: AbortSignal, end: AbortController): Promise<{ readonly thrown: unknown }> {
    const onUp = (): void => {
      const before = this.#up;
      this.#up = end;
      before?.abort();
    };
    const thrown: unknown = await this.#options.watch(AbortSignal.any([signal, end.signal]), onUp).catch((error: unknown) => error);
    if (this.#up === end) {
      this.#up = undefined;
      this.#options.onDown();
    }
    return { thrown };
  }
}
