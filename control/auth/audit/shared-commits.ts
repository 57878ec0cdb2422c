import type { AuditEvent } from "../../../core/audit/audit-events.ts";
import type { AuditStore } from "./audit-store.ts";

/** Time for which events wait for those of other hosts after a recent commit, ms. Each commit waits for the disk, and everything else for it. */
const gatherMs = 10;
/** Number of waiting events that are stored at once: a commit of many takes long, too. */
const mostWaiting = 1_000;

interface Waiting {
  readonly events: readonly AuditEvent[];
  readonly done: PromiseWithResolvers<void>;
}

/** Stores events of many hosts in common transactions: with a commit for each call, a fleet's calls would fill the time of the auth service. */
export class SharedCommits {
  readonly #store: Pick<AuditStore, "appendSoon">;
  #waiting: Waiting[] = [];
  #count = 0;
  #timer: NodeJS.Timeout | undefined;
  /** A commit was a moment ago. */
  #isBusy = false;

  constructor(store: Pick<AuditStore, "appendSoon">) {
    this.#store = store;
  }

  /** Resolves once the events are durable. Rejects with the failure of the store; then none of the call's events are stored. */
  async append(events: readonly AuditEvent[]): Promise<void> {
    const done = Promise.withResolvers<void>();
    this.#waiting.push({ events, done });
    this.#count += events.length;
    if (this.#count >= mostWaiting) this.#commit();
    else this.#timer ??= setTimeout(() => this.#commit(), this.#isBusy ? gatherMs : 0);
    await done.promise;
  }

  #commit(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const waiting = this.#waiting.splice(0);
    this.#count = 0;
    this.#isBusy = waiting.length > 0;
    if (!this.#isBusy) return;
    this.#store.appendSoon(waiting.flatMap(({ events }) => events)).then(
      () => {
        for (const { done } of waiting) done.resolve();
      },
      (thrown: unknown) => {
        for (const { done } of waiting) done.reject(thrown);
      },
    );
    // Without another event until then, the next one is stored at once.
    this.#timer = setTimeout(() => this.#commit(), gatherMs);
  }
}
