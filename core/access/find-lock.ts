import { PlatformError } from "../errors/platform-error.ts";
import { type Lock, lockTargetText } from "../resources/lock.ts";

/** What somebody uses, or wants to. */
export interface LockFacts {
  readonly user: string;
  readonly roles: readonly string[];
  /** Unix login, when known. */
  readonly login?: string | undefined;
  /** Id of the host, when there is one. */
  readonly serverId?: string | undefined;
  readonly now: Date;
}

/** The first lock in force that shuts this out. Pure. */
export function findLock(locks: readonly Lock[], facts: LockFacts): Lock | undefined {
  return locks.find(({ spec }) => {
    if (spec.expires !== undefined && facts.now >= new Date(spec.expires)) return false;
    const { user, role, login, server_id: host } = spec.target;
    if (user !== undefined) return user === facts.user;
    if (role !== undefined) return facts.roles.includes(role);
    return login === undefined ? host === facts.serverId : login === facts.login;
  });
}

/** What the one who is shut out is told. */
export function lockedError({ metadata, spec }: Lock): PlatformError {
  const until = spec.expires === undefined ? "" : ` until ${spec.expires}`;
  const why = spec.message === undefined ? "" : `: ${spec.message}`;
  return new PlatformError("denied", `access denied: ${lockTargetText(spec.target)} is locked${until} by lock ${metadata.name}${why}`, {
    hint: `an admin lifts it with: tctl rm lock/${metadata.name}`,
  });
}
