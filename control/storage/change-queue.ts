import { PlatformError } from "../../core/errors/platform-error.ts";
import type { Change } from "./storage.ts";

/** Maximum number of queued changes before a reader's watch ends with `limit`. */
export const maxQueued = 1_024;

/** A bounded queue between a writer that never waits and one reader. */
export class ChangeQueue implements AsyncIterableIterator<Change> {
  readonly #prefixes: readonly string[];
  readonly #onEnd: (queue: ChangeQueue) => void;
  #held: Change[] = [];
  #wake: (() => void) | undefined;
  #ended = false;
  #failure: PlatformError | undefined;

  constructor(prefixes: readonly string[], onEnd: (queue: ChangeQueue) => void) {
    this.#prefixes = prefixes;
    this.#onEnd = onEnd;
  }

  /** Queues the change if its key is watched. Never waits. */
  offer(key: string, change: Change): void {
    if (this.#ended || !this.#prefixes.some((prefix) => key.startsWith(prefix))) return;
    if (this.#held.length >= maxQueued) {
      this.#held = [];
      this.#failure = new PlatformError("limit", `a watch of ${this.#prefixes.join(", ")} fell ${maxQueued} changes behind`, {
        hint: "read the current state and start the watch again",
      });
      this.end();
      return;
    }
    this.#held.push(change);
    this.#wake?.();
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#onEnd(this);
    this.#wake?.();
  }

  async next(): Promise<IteratorResult<Change, undefined>> {
    while (this.#held.length === 0 && !this.#ended) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
    const value = this.#held.shift();
    if (value !== undefined) return { value, done: false };
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure;
    return { value: undefined, done: true };
  }

  return(): Promise<IteratorResult<Change, undefined>> {
    this.#held = [];
    this.end();
    return Promise.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
