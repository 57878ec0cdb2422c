import type { Grant } from "../../core/access/authorize.ts";
import type { CommonRules } from "../../core/access/session-rules.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { formatDuration } from "../../core/resources/duration.ts";
import { endWhenUnsure, type UnsureFacts } from "./end-when-unsure.ts";

export interface RuledConnection {
  readonly grant: Grant & { readonly rules: CommonRules };
  /** Calls back at each sign of user activity. */
  readonly onActivity: (touch: () => void) => void;
  readonly access: UnsureFacts["access"];
  readonly now: () => Date;
  /** Called at most once for each reason. */
  readonly end: (why: PlatformError) => void;
}

/** Longest wait of a timer, ms, after which it checks again. */
const longestMs = 86_400_000;

/** Ends a connection that is idle too long, whose certificate expires or whose locks are unknown, if roles demand it. Returns the stop function. */
export function endByRules(ruled: RuledConnection): () => void {
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
