import { lockedPlace } from "../../core/access/ask.ts";
import type { Grant } from "../../core/access/authorize.ts";
import { findLock, lockedError } from "../../core/access/find-lock.ts";
import type { CommonRules } from "../../core/access/session-rules.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { formatDuration } from "../../core/resources/duration.ts";
import type { Lock } from "../../core/resources/lock.ts";
import type { AccessSource } from "../access/access-source.ts";

interface RuledConnection {
  readonly grant: Grant & { readonly rules: CommonRules };
  /** Calls back at each sign of user activity. */
  readonly onActivity: (touch: () => void) => void;
  readonly access: UnsureFacts["access"];
  readonly now: () => Date;
  /** Called at most once for each reason. */
  readonly end: (why: PlatformError) => void;
}

export interface HeldToRules extends RuledConnection {
  readonly access: Pick<AccessSource, "follow" | "fresh" | "ageMs">;
}

/** Holds a user's connection to the rules of its grant and to the locks. Returns the function that stops it, once the connection is closed. */
export function holdToRules(ruled: HeldToRules): () => void {
  const { grant, access, now, end: cut } = ruled;
  const over = new AbortController();
  const stopRules = endByRules(ruled);
  access.follow(({ locks }) => cutIfLocked({ grant, locks, now: now(), cut }), over.signal);
  return () => {
    stopRules();
    over.abort();
  };
}

interface LockedFacts {
  readonly grant: Grant;
  readonly locks: readonly Lock[];
  readonly now: Date;
  readonly cut: (why: PlatformError) => void;
}

/** Ends a running connection that is locked by now. */
function cutIfLocked({ grant, locks, now, cut }: LockedFacts): void {
  const { identity, ask } = grant;
  const { name: user, userId, roles } = identity;
  const lock = findLock(locks, { user, userId, roles, now, ...lockedPlace(ask) });
  if (lock !== undefined) cut(lockedError(lock));
}

/** Longest wait of a timer, ms, after which it checks again. */
const longestMs = 86_400_000;

/** Ends a connection that is idle too long, whose certificate expires or whose locks are unknown, if roles demand it. Returns the stop function. */
function endByRules(ruled: RuledConnection): () => void {
  const { rules } = ruled.grant;
  const stops = [
    ...(rules.idleTimeoutSeconds === undefined ? [] : [endWhenIdle(ruled, rules.idleTimeoutSeconds)]),
    ...(rules.disconnectExpired ? [endWhenExpired(ruled)] : []),
    ...(rules.strictLocks ? [endWhenUnsure(ruled)] : []),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

function endWhenIdle({ onActivity, end }: RuledConnection, seconds: number): () => void {
  let last = performance.now();
  onActivity(() => {
    last = performance.now();
  });
  return repeat(() => {
    const leftMs = last + seconds * 1000 - performance.now();
    if (leftMs > 0) return leftMs;
    end(new PlatformError("timeout", `this connection was ended: there was no activity for ${formatDuration(seconds)}`));
    return undefined;
  });
}

function endWhenExpired({ grant, now, end }: RuledConnection): () => void {
  const { validBefore, name } = grant.identity;
  return repeat(() => {
    const leftMs = validBefore.getTime() - now().getTime();
    if (leftMs > 0) return leftMs;
    const why = `this connection was ended: the certificate of ${name} expired at ${validBefore.toISOString()}`;
    end(new PlatformError("unauthenticated", why, { hint: "log in again with: tsh login" }));
    return undefined;
  });
}

/** Checks at once, and again after as many ms as the check returned, until it returns undefined. */
function repeat(look: () => number | undefined): () => void {
  let timer: NodeJS.Timeout | undefined;
  const next = (): void => {
    const waitMs = look();
    timer = waitMs === undefined ? undefined : setTimeout(next, Math.min(Math.ceil(waitMs), longestMs));
  };
  next();
  return () => clearTimeout(timer);
}

/** Where a role says `lock: strict`, locks fetched longer ago than this count as unknown, ms. */
export const strictMs = 60_000;
/** Age at which locks are fetched again, ms: twice before a connection ends. */
const askMs = 20_000;

interface UnsureFacts {
  readonly access: Pick<AccessSource, "fresh" | "ageMs">;
  readonly end: (why: PlatformError) => void;
}

/** Ends a connection once the locks in force have been unknown for a minute. Returns a function that stops it. */
function endWhenUnsure({ access, end }: UnsureFacts): () => void {
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
