import { lockedPlace } from "../../core/access/ask.ts";
import type { Grant } from "../../core/access/authorize.ts";
import { findLock, lockedError } from "../../core/access/find-lock.ts";
import type { PlatformError } from "../../core/errors/platform-error.ts";
import type { Lock } from "../../core/resources/lock.ts";

export interface LockedFacts {
  readonly grant: Grant;
  readonly locks: readonly Lock[];
  readonly now: Date;
  readonly cut: (why: PlatformError) => void;
}

/** Ends a running connection that is locked by now. */
export function cutIfLocked({ grant, locks, now, cut }: LockedFacts): void {
  const { identity, ask } = grant;
  const { name: user, userId, roles } = identity;
  const lock = findLock(locks, { user, userId, roles, now, ...lockedPlace(ask) });
  if (lock !== undefined) cut(lockedError(lock));
}
