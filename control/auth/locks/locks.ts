import { PlatformError } from "../../../core/errors/platform-error.ts";
import { type Lock, lockSchema, lockTargetText } from "../../../core/resources/lock.ts";
import type { Storage } from "../../storage/storage.ts";
import type { Actor } from "../actor.ts";
import type { AuthContext } from "../auth-context.ts";
import { documentKey, fromEntry, named, type PutMode, toPut } from "../documents/document.ts";

/** Of the keys under which locks are stored. */
export const locksPrefix = documentKey("lock", "");

/** Those in force. */
export async function listLocks(storage: Storage): Promise<readonly Lock[]> {
  return (await storage.list(locksPrefix)).map((entry) => fromEntry(lockSchema, entry));
}

export async function getLock(storage: Storage, name: string): Promise<Lock> {
  const entry = await storage.get(documentKey("lock", name));
  if (entry === undefined) throw new PlatformError("not_found", `lock ${name} does not exist`);
  return fromEntry(lockSchema, entry);
}

/** Writes a lock; it is gone from the storage when it expires. Throws `invalid` for one that has expired already. */
export async function putLock(context: AuthContext, lock: Lock, how: PutMode & { actor: Actor }): Promise<Lock> {
  const { name } = lock.metadata;
  const expires = lock.spec.expires === undefined ? undefined : new Date(lock.spec.expires);
  const now = context.now();
  if (expires !== undefined && expires <= now) throw new PlatformError("invalid", `spec.expires: ${lock.spec.expires} is in the past`);
  const spec = { ...lock.spec, created_at: now.toISOString(), created_by: how.actor.name };
  const entry = await named(`lock ${name}`, context.storage.put({ ...toPut({ ...lock, spec } as Lock, how), expires }));
  context.audit.emit({
    event: "lock.created",
    user: how.actor.name,
    name,
    target: lockTargetText(lock.spec.target),
    ...(lock.spec.message !== undefined && { reason: lock.spec.message }),
    ...(lock.spec.expires !== undefined && { expires: lock.spec.expires }),
    "addr.remote": how.actor.address,
  });
  return fromEntry(lockSchema, entry);
}

export async function deleteLock(context: AuthContext, name: string, actor: Actor): Promise<void> {
  const { spec } = await getLock(context.storage, name);
  await named(`lock ${name}`, context.storage.delete(documentKey("lock", name)));
  context.audit.emit({ event: "lock.deleted", user: actor.name, name, target: lockTargetText(spec.target), "addr.remote": actor.address });
}
