import { lockedPlace } from "../../core/access/ask.ts";
import type { Grant } from "../../core/access/authorize.ts";
import { findLock, lockedError } from "../../core/access/find-lock.ts";
import type { PlatformError } from "../../core/errors/platform-error.ts";
import type { Lock } from "../../core/resources/lock.ts";
import type { AccessSource } from "../access/access-source.ts";
import { endByRules, type RuledConnection } from "./end-by-rules.ts";

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
