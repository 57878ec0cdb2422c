import { errorText } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";

export interface HeldSessionsOptions {
  /** Those of these sessions that have ended, by the auth service. */
  readonly findEnded: (ids: readonly string[], signal: AbortSignal) => Promise<readonly string[]>;
  readonly log: Log;
  /** Interval of the checks, ms; default 2 s. */
  readonly everyMs?: number;
  readonly signal: AbortSignal;
}

/** Interval at which sessions with something open are checked, ms. */
const usualMs = 2_000;
/** Sessions of one check. */
const maxChecked = 10_000;

/** What the sessions of browsers have open here: it ends within seconds of its session, and a log-out at this proxy counts at once. */
export class HeldSessions {
  readonly #options: HeldSessionsOptions;
  /** By session: what to do when it ends. */
  readonly #open = new Map<string, Set<() => void>>();
  #checking: Promise<void> | undefined;
  #again = false;

  constructor(options: HeldSessionsOptions) {
    this.#options = options;
    const timer = setInterval(() => void (this.#open.size > 0 && this.#check()), options.everyMs ?? usualMs).unref();
    options.signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  }

  /** Calls `end` once the session has ended, unless the returned function was called before. */
  hold(id: string, end: () => void): () => void {
    const held = this.#open.get(id) ?? new Set();
    this.#open.set(id, held.add(end));
    return () => {
      held.delete(end);
      if (held.size === 0 && this.#open.get(id) === held) this.#open.delete(id);
    };
  }

  /** Number of things that the session has open. */
  count(id: string): number {
    return this.#open.get(id)?.size ?? 0;
  }

  /** Sessions may have ended now. */
  checkSoon(): void {
    if (this.#checking !== undefined) this.#again = true;
    else if (this.#open.size > 0) void this.#check();
  }

  /** The session has ended: nothing of it stays. */
  ended(id: string): void {
    const held = this.#open.get(id) ?? [];
    this.#open.delete(id);
    for (const end of held) end();
  }

  #check(): Promise<void> {
    this.#checking ??= this.#endThose().finally(() => {
      this.#checking = undefined;
      if (!this.#again) return;
      this.#again = false;
      void this.#check();
    });
    return this.#checking;
  }

  /** While the auth service is away, what is open stays; nothing new is admitted then. Never rejects. */
  async #endThose(): Promise<void> {
    const { findEnded, log, signal } = this.#options;
    const all = [...this.#open.keys()];
    try {
      for (let from = 0; from < all.length; from += maxChecked) {
        for (const id of await findEnded(all.slice(from, from + maxChecked), signal)) this.ended(id);
      }
    } catch (thrown) {
      if (!signal.aborted) log.debug("could not check the sessions of browsers", { error: errorText(thrown) });
    }
  }
}
