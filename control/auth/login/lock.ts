import { createHash } from "node:crypto";
import { z } from "zod";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Entry, Storage, Write } from "../../storage/storage.ts";

/** Failed tries before a user name is locked, and for how long, ms. */
const maxFailures = 5;
const lockMs = 30 * 60_000;

const lockSchema = z.strictObject({ failures: z.int(), locked_until: z.string().optional() });

/**
 * Failed tries of a user name, whether or not such a user exists: the answers are the same. Kept in the storage, so that a
 * restart forgets nothing; forgotten 30 minutes after the last failure.
 */
export async function lockedUntil(storage: Storage, user: string): Promise<Date | undefined> {
  return decode(await storage.get(lockKey(user)));
}

/** Counts a failure; returns until when the name is locked now, if it is. */
export async function countFailure(storage: Storage, user: string, now: Date): Promise<Date | undefined> {
  const key = lockKey(user);
  const stored = await storage.get(key);
  const failures = (stored === undefined ? 0 : lockSchema.parse(JSON.parse(stored.value)).failures) + 1;
  const end = new Date(now.getTime() + lockMs);
  const locked = failures >= maxFailures;
  const value = JSON.stringify(locked ? { failures, locked_until: end.toISOString() } : { failures });
  await storage.put({ key, value, expires: end });
  return locked ? end : undefined;
}

export function clearFailures(user: string): Write {
  return { key: lockKey(user) };
}

export function lockedError(until: Date): PlatformError {
  return new PlatformError("limit", `too many failed tries: this user name is locked until ${until.toISOString()}`, {
    hint: "wait, or ask an admin for: tctl users reset",
  });
}

function decode(entry: Entry | undefined): Date | undefined {
  if (entry === undefined) return undefined;
  const { locked_until } = lockSchema.parse(JSON.parse(entry.value));
  return locked_until === undefined ? undefined : new Date(locked_until);
}

/** Hashed: what was typed as a user name may be anything, even a password. */
function lockKey(user: string): string {
  return `/lock/${createHash("sha256").update(user).digest("hex")}`;
}
