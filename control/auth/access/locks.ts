import { PlatformError } from "../../../core/errors/platform-error.ts";
import { type Lock, lockSchema, lockTargetText, removalLockName } from "../../../core/resources/lock.ts";
import type { Put, Storage } from "../../storage/storage.ts";
import type { AuthContext } from "../auth-context.ts";
import { type Actor, documentKey, fromEntry, named, type PutMode, toPut } from "../document.ts";

/** Prefix of the storage keys of locks. */
export const locksPrefix = documentKey("lock", "");

/** Locks in force. */
export async function listLocks(storage: Storage): Promise<readonly Lock[]> {
  return (await storage.list(locksPrefix)).map((entry) => fromEntry(lockSchema, entry));
}

export async function getLock(storage: Storage, name: string): Promise<Lock> {
  const entry = await storage.get(documentKey("lock", name));
  if (entry === undefined) throw new PlatformError("not_found", `lock ${name} does not exist`);
  return fromEntry(lockSchema, entry);
}

/** Writes a lock; it is gone from the storage when it expires. Throws `invalid` for an expired one. */
export async function putLock(context: AuthContext, lock: Lock, how: PutMode & { actor: Actor }): Promise<Lock> {
  const { name } = lock.metadata;
  const expires = lock.spec.expires === undefined ? undefined : new Date(lock.spec.expires);
  const now = context.now();
  if (expires !== undefined && expires <= now) throw new PlatformError("invalid", `spec.expires: ${lock.spec.expires} is in the past`);
  const spec = { ...lock.spec, created_at: now.toISOString(), created_by: how.actor.name };
  const entry = await named(`lock ${name}`, context.storage.put({ ...toPut({ ...lock, spec } as Lock, how), expires }));
  auditLock(context, lock, how.actor);
  return fromEntry(lockSchema, entry);
}

export function auditLock({ audit }: Pick<AuthContext, "audit">, { metadata, spec }: Lock, actor: Actor): void {
  audit.emit({
    event: "lock.created",
    user: actor.name,
    name: metadata.name,
    target: lockTargetText(spec.target),
    ...(spec.message !== undefined && { reason: spec.message }),
    ...(spec.expires !== undefined && { expires: spec.expires }),
    "addr.remote": actor.address,
  });
}

/** The lock for the removal of a user, written together with it. */
export function removalLock(
  { now }: Pick<AuthContext, "now">,
  { user, id, expires, by }: { readonly user: string; readonly id: string; readonly expires: Date; readonly by: string },
): { readonly lock: Lock; readonly write: Put } {
  const createdAt = now().toISOString();
  const lock: Lock = {
    kind: "lock",
    version: "v2",
    metadata: { name: removalLockName(id) },
    spec: { target: { user }, message: `user ${user} was removed`, expires: expires.toISOString(), created_at: createdAt, created_by: by },
  };
  return { lock, write: { ...toPut(lock, { overwrite: true, mustExist: false }), expires } };
}

export async function deleteLock(context: AuthContext, name: string, actor: Actor): Promise<void> {
  const { spec } = await getLock(context.storage, name);
  await named(`lock ${name}`, context.storage.delete(documentKey("lock", name)));
  context.audit.emit({ event: "lock.deleted", user: actor.name, name, target: lockTargetText(spec.target), "addr.remote": actor.address });
}
