import { PlatformError } from "../../core/errors/platform-error.ts";
import type { Change, Entry, Watch } from "./storage.ts";

/* Changes for a watch: a queue for its reader, and the writes of another process to the same database. */

/** Maximum number of queued changes before a reader's watch ends with `limit`. */
const maxQueued = 1_024;

/** A bounded queue between a writer that never waits and one reader. */
export class ChangeQueue implements AsyncIterableIterator<Change>, Watch {
  readonly #prefixes: readonly string[];
  readonly #onEnd: (queue: ChangeQueue) => void;
  /** Queues what other processes have written. */
  readonly #look: () => void;
  #held: Change[] = [];
  #wake: (() => void) | undefined;
  #ended = false;
  #failure: PlatformError | undefined;

  constructor(prefixes: readonly string[], { onEnd, look }: { readonly onEnd: (queue: ChangeQueue) => void; readonly look: () => void }) {
    this.#prefixes = prefixes;
    this.#onEnd = onEnd;
    this.#look = look;
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

  take(): readonly Change[] {
    if (!this.#ended) this.#look();
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#ended) throw new PlatformError("unavailable", "the watch has ended");
    const taken = this.#held;
    this.#held = [];
    return taken;
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

export interface ForeignSource {
  /** Changes whenever another process has committed; this one's own commits do not affect it (SQLite's data_version). */
  version(): number;
  list(prefix: string): readonly Entry[];
}

interface Followed {
  readonly prefixes: readonly string[];
  /** Key → revision, as last reported to its reader. */
  readonly known: Map<string, string>;
}

/**
 * Notifies watches of another process's writes to the same database: during a handover there are two.
 * Own writes are reported by `own`; others' writes are found by `look`, by comparing.
 */
export class ForeignChanges {
  readonly #source: ForeignSource;
  readonly #followed = new Map<ChangeQueue, Followed>();
  #version: number | undefined;

  constructor(source: ForeignSource) {
    this.#source = source;
  }

  follow(queue: ChangeQueue, prefixes: readonly string[]): void {
    this.#version ??= this.#source.version();
    const known = new Map(this.#entries(prefixes).map(({ key, revision }) => [key, revision]));
    this.#followed.set(queue, { prefixes, known });
  }

  forget(queue: ChangeQueue): void {
    this.#followed.delete(queue);
  }

  own(changes: readonly Change[]): void {
    for (const change of changes) {
      for (const { prefixes, known } of this.#followed.values()) {
        if (change.kind === "delete") known.delete(change.key);
        else if (prefixes.some((prefix) => change.entry.key.startsWith(prefix))) known.set(change.entry.key, change.entry.revision);
      }
    }
  }

  look(): void {
    const version = this.#source.version();
    if (version === this.#version) return;
    for (const [queue, followed] of [...this.#followed]) this.#compare(queue, followed);
    // Last: after a failure the check is repeated.
    this.#version = version;
  }

  #compare(queue: ChangeQueue, { prefixes, known }: Followed): void {
    const gone = new Set(known.keys());
    for (const entry of this.#entries(prefixes)) {
      gone.delete(entry.key);
      if (known.get(entry.key) === entry.revision) continue;
      known.set(entry.key, entry.revision);
      queue.offer(entry.key, { kind: "put", entry });
    }
    for (const key of gone) {
      known.delete(key);
      queue.offer(key, { kind: "delete", key });
    }
  }

  #entries(prefixes: readonly string[]): Entry[] {
    return prefixes.flatMap((prefix) => this.#source.list(prefix));
  }
}
