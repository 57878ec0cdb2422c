import { type Argon2Parameters, argon2, randomBytes, timingSafeEqual } from "node:crypto";
import { Secret, TOTP } from "otpauth";
import { z } from "zod";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { createFairQueue } from "../../../core/limits/fair-queue.ts";
import type { Storage, Write } from "../../storage/storage.ts";

/* What a user proves to be: the stored credential, the password with its hash, the one-time code. */

/** Stored with its parameters, so that they can be raised later. Salt and hash in base64. */
const passwordHashSchema = z.strictObject({
  algorithm: z.literal("argon2id"),
  memory: z.int(),
  passes: z.int(),
  parallelism: z.int(),
  salt: z.string(),
  hash: z.string(),
});
type PasswordHash = z.infer<typeof passwordHashSchema>;

/** A user's credential. An open invite empties it: no login works until the invite is accepted. */
const credentialSchema = z.strictObject({
  password: passwordHashSchema.optional(),
  totp: z.strictObject({ secret: z.string(), last_step: z.int().optional() }).optional(),
  /** Hash of the token of the open invite. */
  invite: z.string().optional(),
});
export type Credential = z.infer<typeof credentialSchema>;

export interface StoredCredential {
  readonly credential: Credential;
  readonly revision: string;
}

export async function readCredential(storage: Storage, user: string): Promise<StoredCredential | undefined> {
  const entry = await storage.get(credentialKey(user));
  return entry === undefined ? undefined : { credential: credentialSchema.parse(JSON.parse(entry.value)), revision: entry.revision };
}

/** The write that replaces the credential that was read before. */
export function credentialWrite(user: string, credential: Credential, before: StoredCredential | undefined): Write {
  const expect = before === undefined ? "absent" : { revision: before.revision };
  return { key: credentialKey(user), value: JSON.stringify(credential), expect };
}

export function credentialKey(user: string): string {
  return `/credential/${encodeURIComponent(user)}`;
}

/** How hard a hash is: memory in KiB, passes, lanes. */
export interface HashCost {
  readonly memory: number;
  readonly passes: number;
  readonly parallelism: number;
}

/** OWASP's password storage cheat sheet, argon2id: 19 MiB, two passes, one lane. */
export const defaultHashCost: HashCost = { memory: 19_456, passes: 2, parallelism: 1 };

export interface PasswordHasher {
  /** For a user who is proven. */
  make(password: string): Promise<PasswordHash>;
  /** Without a stored hash it does the same work and returns false. */
  matches(password: string, stored: PasswordHash | undefined, attempt: HashAttempt): Promise<boolean>;
}

/** Where a password comes from. */
export interface HashAttempt {
  /** By `clientSite`: sites take turns. */
  readonly site: string;
  /** The user has logged in from this network before. */
  readonly isKnown: boolean;
}

/** Maximum of concurrent hashes (each takes `memory`) for unknown networks and for known ones and proven users, and of waiting callers of each. */
const maxRunning = { unknown: 2, known: 1 };
const maxWaiting = 64;
const hashLength = 32;

export function createPasswordHasher(cost: HashCost = defaultHashCost): PasswordHasher {
  const unknown = createFairQueue({ atOnce: maxRunning.unknown, waiting: maxWaiting, what: "logins" });
  // However many networks guess, a user who has logged in before still gets in.
  const known = createFairQueue({ atOnce: maxRunning.known, waiting: maxWaiting, what: "logins" });
  const decoy: PasswordHash = {
    algorithm: "argon2id",
    ...cost,
    salt: randomBytes(16).toString("base64"),
    hash: randomBytes(hashLength).toString("base64"),
  };
  const matches = async (password: string, stored: PasswordHash | undefined, { site, isKnown }: HashAttempt): Promise<boolean> => {
    const against = stored ?? decoy;
    const turns = isKnown ? known : unknown;
    const found = await turns(site, () => derive(password, Buffer.from(against.salt, "base64"), against));
    return timingSafeEqual(found, Buffer.from(against.hash, "base64")) && stored !== undefined;
  };
  const make = async (password: string): Promise<PasswordHash> => {
    const salt = randomBytes(16);
    const hash = await known("", () => derive(password, salt, cost));
    return { algorithm: "argon2id", ...cost, salt: salt.toString("base64"), hash: hash.toString("base64") };
  };
  return { make, matches };
}

function derive(password: string, nonce: Buffer, cost: HashCost): Promise<Buffer> {
  const { memory, passes, parallelism } = cost;
  const parameters: Argon2Parameters = { message: password.normalize("NFKC"), nonce, parallelism, tagLength: hashLength, memory, passes };
  return new Promise((resolve, reject) => argon2("argon2id", parameters, (error, key) => (error === null ? resolve(key) : reject(error))));
}

/** Throws `invalid` unless the password has 12 to 128 characters. */
export function checkPassword(password: string): void {
  const { length } = [...password];
  if (length < 12 || length > 128) throw new PlatformError("invalid", "the password must have 12 to 128 characters");
}

/** One-time codes (RFC 6238): SHA-1, six digits, 30 s, one step of clock skew either way. */
const period = 30;

/** A new secret, base32. */
export function newTotpSecret(): string {
  return new Secret({ buffer: new Uint8Array(randomBytes(20)).buffer }).base32;
}

/** `otpauth://totp/…` for an authenticator. */
export function totpUri(facts: { secret: string; user: string; cluster: string }): string {
  return totp(facts.secret, { issuer: facts.cluster, label: facts.user }).toString();
}

/**
 * The time step of a code, or undefined when it is wrong. A step is valid once: one that is not after `lastStep`
 * is refused (RFC 6238 section 5.2).
 */
export function acceptedStep(facts: { secret: string; code: string; now: Date; lastStep: number | undefined }): number | undefined {
  if (!/^\d{6}$/.test(facts.code)) return undefined;
  const timestamp = facts.now.getTime();
  const delta = totp(facts.secret).validate({ token: facts.code, timestamp, window: 1 });
  if (delta === null) return undefined;
  const step = Math.floor(timestamp / 1000 / period) + delta;
  return facts.lastStep !== undefined && step <= facts.lastStep ? undefined : step;
}

function totp(secret: string, names: { issuer: string; label: string } = { issuer: "", label: "" }): TOTP {
  return new TOTP({ ...names, algorithm: "SHA1", digits: 6, period, secret: Secret.fromBase32(secret) });
}
