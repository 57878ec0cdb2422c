import { createHash } from "node:crypto";
import { z } from "zod";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { clientNetwork } from "../../limits/request-limit.ts";
import type { Entry, Storage, Write } from "../../storage/storage.ts";

/** Failed attempts for a user name from one address before that address must wait, and for how long, ms. */
const maxFailures = 5;
const throttleMs = 30 * 60_000;
/** Failed attempts for a user name from all addresses after which unknown addresses wait, and the maximum wait, ms. */
const freeFailures = 15;
const firstWaitMs = 500;
const longestWaitMs = 10_000;
/** How long an address from which the user logged in is exempt from waiting, ms. */
const knownMs = 30 * 24 * 3_600_000;

const countSchema = z.object({ failures: z.int(), locked_until: z.string().optional() });

/** A login attempt: the typed name, whether or not such a user exists, and its address. */
export interface LoginTry {
  readonly user: string;
  /** `ip:port` or `ip`. */
  readonly address: string;
}

/**
 * Failed attempts are counted by name and address, so that a client cannot lock out others; unknown names get the same answers.
 * Attempts on a name from many addresses make unknown addresses wait, one after the other, but not those with an earlier login. Kept
 * in the storage, across restarts, until 30 minutes after the last failure.
 */
export async function throttledUntil(storage: Storage, attempt: LoginTry): Promise<Date | undefined> {
  return endOf(await storage.get(ofAddress(attempt)));
}

/** Delay of this attempt, ms: grows with the failures of others. */
export async function waitOf(storage: Storage, attempt: LoginTry): Promise<number> {
  const failures = countOf(await storage.get(ofName(attempt.user))) - freeFailures;
  if (failures < 0 || (await isKnown(storage, attempt))) return 0;
  return Math.min(longestWaitMs, firstWaitMs * 2 ** Math.min(failures, 16));
}

/** Whether the user has logged in from this network before. */
export async function isKnown(storage: Storage, attempt: LoginTry): Promise<boolean> {
  return (await storage.get(known(attempt))) !== undefined;
}

/** Counts a failure; returns the time until which that address must wait, if it must. */
export async function countFailure(storage: Storage, attempt: LoginTry, now: Date): Promise<Date | undefined> {
  const [key, all] = [ofAddress(attempt), ofName(attempt.user)];
  const failures = countOf(await storage.get(key)) + 1;
  const ofAll = countOf(await storage.get(all)) + 1;
  const end = new Date(now.getTime() + throttleMs);
  const isThrottled = failures >= maxFailures;
  const value = JSON.stringify(isThrottled ? { failures, locked_until: end.toISOString() } : { failures });
  await storage.batch([
    { key, value, expires: end },
    { key: all, value: JSON.stringify({ failures: ofAll }), expires: end },
  ]);
  return isThrottled ? end : undefined;
}

/** Records a successful login: clears the failures of its address, which is known from now on. */
export function rememberLogin(attempt: LoginTry, now: Date): readonly Write[] {
  return [{ key: ofAddress(attempt) }, { key: known(attempt), value: "true", expires: new Date(now.getTime() + knownMs) }];
}

/** Clears all failures of a name, and with `forget` also its known addresses. */
export async function clearFailures(storage: Storage, user: string, forget = false): Promise<readonly Write[]> {
  const prefixes = [failuresPrefix(user), ...(forget ? [knownPrefix(user)] : [])];
  const entries = await Promise.all(prefixes.map((prefix) => storage.list(prefix)));
  return [{ key: ofName(user) }, ...entries.flat().map(({ key }) => ({ key }))].filter(isFirst);
}

/** For `tctl users ls`: the time until which some address must wait. */
export async function throttledSomewhere(storage: Storage, user: string): Promise<Date | undefined> {
  const ends = (await storage.list(failuresPrefix(user))).flatMap((entry) => endOf(entry) ?? []);
  return ends.reduce<Date | undefined>((last, end) => (last === undefined || end > last ? end : last), undefined);
}

export function throttledError(until: Date): PlatformError {
  return new PlatformError("limit", `too many failed attempts: this user name is locked for this address until ${until.toISOString()}`, {
    hint: "wait, or ask an admin to run: tctl users unlock",
  });
}

function isFirst({ key }: Write, index: number, all: readonly Write[]): boolean {
  return all.findIndex((other) => other.key === key) === index;
}

function endOf(entry: Entry | undefined): Date | undefined {
  const until = entry === undefined ? undefined : countSchema.parse(JSON.parse(entry.value)).locked_until;
  return until === undefined ? undefined : new Date(until);
}

function countOf(entry: Entry | undefined): number {
  return entry === undefined ? 0 : countSchema.parse(JSON.parse(entry.value)).failures;
}

function ofName(user: string): string {
  return `${failuresPrefix(user)}all`;
}

function ofAddress({ user, address }: LoginTry): string {
  return `${failuresPrefix(user)}${hashOf(clientNetwork(address))}`;
}

function known({ user, address }: LoginTry): string {
  return `${knownPrefix(user)}${hashOf(clientNetwork(address))}`;
}

/** Hashed: a typed user name may be anything, even a password. */
function failuresPrefix(user: string): string {
  return `/login-failures/${hashOf(user)}/`;
}

function knownPrefix(user: string): string {
  return `/login-known/${hashOf(user)}/`;
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
