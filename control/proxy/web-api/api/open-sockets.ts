import type { AuthClient } from "../../../../core/api/auth-client.ts";
import { errorText, PlatformError } from "../../../../core/errors/platform-error.ts";
import type { Log } from "../../../../core/log/log.ts";

export interface OpenSocketsOptions {
  readonly auth: Pick<AuthClient, "checkAppSessions">;
  readonly log: Log;
  /** Left out: 2 s. */
  readonly everyMs?: number;
  readonly signal: AbortSignal;
}

/** Maximum WebSockets of one session of a browser. */
const maxOfSession = 20;
/** Interval at which sessions with something open are checked, ms. */
const usualMs = 2_000;
/** Sessions of one check. */
const maxChecked = 10_000;

/** WebSockets by the session of their browser: they end within seconds of it, and a log-out at this proxy counts at once. */
export class OpenSockets {
  readonly #options: OpenSocketsOptions;
  readonly #open = new Map<string, Set<(why: PlatformError) => void>>();
  #checking: Promise<void> | undefined;
  #again = false;

  constructor(options: OpenSocketsOptions) {
    this.#options = options;
    const timer = setInterval(() => void (this.#open.size > 0 && this.#check()), options.everyMs ?? usualMs).unref();
    options.signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  }

  /** Counts a WebSocket until the returned function is called; `end` is called when its session has ended. Throws `limit`. */
  add(session: string, end: (why: PlatformError) => void): () => void {
    const held = this.#open.get(session) ?? new Set();
    if (held.size >= maxOfSession) {
      throw new PlatformError("limit", `this browser has ${maxOfSession} terminals open, the maximum of one session`, {
        hint: "close some of them first",
      });
    }
    this.#open.set(session, held.add(end));
    return () => {
      held.delete(end);
      if (held.size === 0 && this.#open.get(session) === held) this.#open.delete(session);
    };
  }

  /** Sessions may have ended now. */
  checkSoon(): void {
    if (this.#checking !== undefined) this.#again = true;
    else if (this.#open.size > 0) void this.#check();
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
    const { auth, log, signal } = this.#options;
    const all = [...this.#open.keys()];
    try {
      for (let from = 0; from < all.length; from += maxChecked) {
        const { endedIds } = await auth.checkAppSessions({ browserIds: all.slice(from, from + maxChecked) }, { signal });
        for (const id of endedIds) this.#ended(id);
      }
    } catch (thrown) {
      if (!signal.aborted) log.debug("could not check the sessions of browsers", { error: errorText(thrown) });
    }
  }

  #ended(session: string): void {
    const why = new PlatformError("unauthenticated", "your session in this browser has ended", { hint: "log in again" });
    for (const end of [...(this.#open.get(session) ?? [])]) end(why);
  }
}
