import { type Argon2Parameters, argon2, randomBytes, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { createQueue } from "../../../core/limits/queue.ts";

/** How hard a hash is: memory in KiB, passes, lanes. */
export interface HashCost {
  readonly memory: number;
  readonly passes: number;
  readonly parallelism: number;
}

/** OWASP's password storage cheat sheet, argon2id: 19 MiB, two passes, one lane. */
export const defaultHashCost: HashCost = { memory: 19_456, passes: 2, parallelism: 1 };

/** Stored with its parameters, so that they can be raised later. Salt and hash in base64. */
export const passwordHashSchema = z.strictObject({
  algorithm: z.literal("argon2id"),
  memory: z.int(),
  passes: z.int(),
  parallelism: z.int(),
  salt: z.string(),
  hash: z.string(),
});
export type PasswordHash = z.infer<typeof passwordHashSchema>;

export interface PasswordHasher {
  make(password: string): Promise<PasswordHash>;
  /** Without a stored hash it does the same work and returns false. */
  matches(password: string, stored: PasswordHash | undefined): Promise<boolean>;
}

/** Maximum of concurrent hashes (each takes `memory`), and of waiting callers. */
const maxRunning = 2;
const maxWaiting = 64;
const hashLength = 32;

export function createPasswordHasher(cost: HashCost = defaultHashCost): PasswordHasher {
  const turn = createQueue({ atOnce: maxRunning, waiting: maxWaiting, what: "logins" });
  const decoy: PasswordHash = {
    algorithm: "argon2id",
    ...cost,
    salt: randomBytes(16).toString("base64"),
    hash: randomBytes(hashLength).toString("base64"),
  };
  const matches = async (password: string, stored: PasswordHash | undefined): Promise<boolean> => {
    const against = stored ?? decoy;
    const found = await turn(() => derive(password, Buffer.from(against.salt, "base64"), against));
    return timingSafeEqual(found, Buffer.from(against.hash, "base64")) && stored !== undefined;
  };
  const make = async (password: string): Promise<PasswordHash> => {
    const salt = randomBytes(16);
    const hash = await turn(() => derive(password, salt, cost));
    return { algorithm: "argon2id", ...cost, salt: salt.toString("base64"), hash: hash.toString("base64") };
  };
  return { make, matches };
}

/** Throws `invalid` unless the password has 12 to 128 characters. */
export function checkPassword(password: string): void {
  const { length } = [...password];
  if (length < 12 || length > 128) throw new PlatformError("invalid", "the password must have 12 to 128 characters");
}

function derive(password: string, nonce: Buffer, cost: HashCost): Promise<Buffer> {
  const { memory, passes, parallelism } = cost;
  const parameters: Argon2Parameters = { message: password.normalize("NFKC"), nonce, parallelism, tagLength: hashLength, memory, passes };
  return new Promise((resolve, reject) => argon2("argon2id", parameters, (error, key) => (error === null ? resolve(key) : reject(error))));
}
