import { PlatformError } from "../../core/errors/platform-error.ts";
import { formatDuration } from "../../core/resources/duration.ts";
import type { AccessSource } from "../access/access-source.ts";

/** Where a role says `lock: strict`, locks fetched longer ago than this count as unknown, ms. */
export const strictMs = 60_000;
/** Age at which locks are fetched again, ms: twice before a connection ends. */
const askMs = 20_000;

export interface UnsureFacts {
  readonly access: Pick<AccessSource, "fresh" | "ageMs">;
  readonly end: (why: PlatformError) => void;
}

/** Ends a connection once the locks in force have been unknown for a minute. Returns a function that stops it. */
export function endWhenUnsure({ access, end }: UnsureFacts): () => void {
  let timer: NodeJS.Timeout | undefined;
  const look = (): void => {
    const next = nextLook(access.ageMs());
    if (next.isOver) {
      end(unsureError());
      return;
    }
    // A failure does not change the age of the answer.
    if (next.asks) void access.fresh(askMs).catch(() => {});
    timer = setTimeout(look, next.afterMs);
  };
  look();
  return () => clearTimeout(timer);
}

/** What to do when the last answer is this old. Pure. */
export function nextLook(ageMs: number): { readonly isOver: boolean; readonly asks: boolean; readonly afterMs: number } {
  const asks = ageMs >= askMs;
  const isOver = ageMs >= strictMs;
  const least = 250;
  const untilEnd = Math.max(least, strictMs - ageMs);
  return { isOver, asks, afterMs: asks ? Math.min(askMs / 4, untilEnd) : Math.max(least, askMs - ageMs) };
}

function unsureError(): PlatformError {
  const why = `this connection was ended: this host could not fetch locks for ${formatDuration(strictMs / 1000)} (lock: strict)`;
  return new PlatformError("unavailable", why, { hint: "try again once the auth service is reachable" });
}
