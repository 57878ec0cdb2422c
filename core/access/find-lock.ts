import { PlatformError } from "../errors/platform-error.ts";
import { type Lock, lockTargetText, removedUserId } from "../resources/lock.ts";

/** An access, or a request for one. */
export interface LockFacts {
  readonly user: string;
  /** User id in the certificate; undefined when it has none. */
  readonly userId: string | undefined;
  readonly roles: readonly string[];
  /** Unix login, when known. */
  readonly login?: string | undefined;
  /** Id of the host, when there is one. */
  readonly serverId?: string | undefined;
  readonly now: Date;
}

/** The first lock in force that applies to this. Pure. */
export function findLock(locks: readonly Lock[], facts: LockFacts): Lock | undefined {
  return locks.find((lock) => {
    const { spec } = lock;
    if (spec.expires !== undefined && facts.now >= new Date(spec.expires)) return false;
    const { user, role, login, server_id: host } = spec.target;
    if (user !== undefined) return user === facts.user && isOf(lock, facts.userId);
    if (role !== undefined) return facts.roles.includes(role);
    return login === undefined ? host === facts.serverId : login === facts.login;
  });
}

/** The lock of a removal is for that user, not for a later one of the same name. A certificate without a user id may belong to either. */
function isOf(lock: Lock, userId: string | undefined): boolean {
  const removed = removedUserId(lock);
  return removed === undefined || userId === undefined || removed === userId;
}

/** The error for the locked user. */
export function lockedError(lock: Lock): PlatformError {
  const { metadata, spec } = lock;
  if (removedUserId(lock) !== undefined) {
    return new PlatformError("denied", `access denied: ${spec.message ?? "the user was removed"} (lock ${metadata.name})`, {
      hint: "certificates from before the removal stay refused; if you were added again, log in with: tsh login",
    });
  }
  const until = spec.expires === undefined ? "" : ` until ${spec.expires}`;
  const why = spec.message === undefined ? "" : `: ${spec.message}`;
  return new PlatformError("denied", `access denied: ${lockTargetText(spec.target)} is locked${until} by lock ${metadata.name}${why}`, {
    hint: `an admin can remove it with: tctl rm lock/${metadata.name}`,
  });
}
