import { setTimeout as sleep } from "node:timers/promises";
import { findLock, lockedError } from "../../../core/access/find-lock.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { UserIdentity } from "../../../core/identity/identity.ts";
import { nameText } from "../../../core/resources/metadata.ts";
import { clientNetwork, clientSite } from "../../limits/request-limit.ts";
import type { Write } from "../../storage/storage.ts";
import { listLocks } from "../access/locks.ts";
import type { AuthContext } from "../auth-context.ts";
import type { IssuedCertificates } from "../authority/issue-certificates.ts";
import { loginTtl, userIdentity } from "../certificates/user-identity.ts";
import { acceptedStep, type Credential, credentialWrite, newTotpSecret, readCredential, type StoredCredential } from "../users/credentials.ts";
import { findUser, readUserId } from "../users/users.ts";
import { countFailure, isKnown, type LoginTry, rememberLogin, throttledError, throttledUntil, waitOf } from "./login-throttle.ts";

/** What a user proves to be. */
export interface LoginProof {
  readonly user: string;
  readonly password: string;
  readonly code: string;
  readonly address: string;
}

export interface LoginAsk extends LoginProof {
  readonly sshPublicKey: string;
  readonly tlsPublicKey: string;
  /** 0: the default. */
  readonly ttlSeconds: number;
}

/** A user whose password and code are right. */
export interface Proven {
  readonly identity: UserIdentity;
  readonly userId: string | undefined;
  readonly now: Date;
}

/** What a login gives: it is only given if the code can be spent, together with these writes. */
export interface Given<T> {
  readonly result: T;
  readonly writes: readonly Write[];
  /** Session in a browser. */
  readonly sid?: string;
  /** Replaces the password. */
  readonly password?: Credential["password"];
}

/** A login, or another change for which the user proves to be the same. */
export interface LoginWay extends LoginProof {
  /** Recorded for the attempt; default `user.login`. */
  readonly event?: "user.login" | OwnChange;
  readonly method?: "browser";
  /** 0: the default. */
  readonly ttlSeconds?: number;
}

/** Replaces the secret of a user without one, so that both cost the same. */
const decoySecret = newTotpSecret();

/** Exchanges password and one-time code for certificates. Throws as `loginWith`. */
export async function login(context: AuthContext, ask: LoginAsk): Promise<IssuedCertificates> {
  return await loginWith(context, ask, async ({ identity, now }) => ({
    result: await context.authorities.issueUser(identity, { ...ask, now }),
    writes: [],
  }));
}

/**
 * Exchanges password and one-time code for what `give` gives. Unknown users, wrong passwords and wrong codes get the same answer for the
 * same work; after five of them in a row the name, existing or not, is locked for 30 minutes for that address.
 */
export async function loginWith<T>(context: AuthContext, ask: LoginWay, give: (proven: Proven) => Promise<Given<T>>): Promise<T> {
  const name = nameText.safeParse(ask.user).success ? ask.user : "(not a user name)";
  try {
    return await inTurn(context, ask, () => prove(context, { ...ask, name }, give));
  } catch (thrown) {
    const error = thrown instanceof PlatformError ? thrown.message : "internal error";
    context.audit.emitRefusal({ ...eventOf(ask), success: false, user: name, error, "addr.remote": ask.address });
    throw thrown;
  }
}

/** Runs an attempt to prove to be a user: one at a time per name and address; delayed ones from unknown addresses run one after the other. */
export async function inTurn<T>(context: AuthContext, attempt: LoginTry, work: () => Promise<T>): Promise<T> {
  const user = attempt.user.slice(0, 256);
  return await context.queues(`login ${user} ${clientNetwork(attempt.address)}`, async () => {
    const waitMs = await waitOf(context.storage, attempt);
    if (waitMs > 0) await context.slowQueues(user, () => sleep(waitMs));
    return await context.queues(`login ${user}`, work);
  });
}

async function prove<T>(context: AuthContext, ask: LoginWay & { readonly name: string }, give: (proven: Proven) => Promise<Given<T>>): Promise<T> {
  const { storage } = context;
  const { name, ttlSeconds = 0, address } = ask;
  const locked = await throttledUntil(storage, ask);
  if (locked !== undefined) throw throttledError(locked);
  const userId = await readUserId(storage, ask.user);
  const user = await findUser(context, ask.user);
  const stored = await readCredential(storage, ask.user);
  const { password, totp } = user === undefined ? {} : (stored?.credential ?? {});
  const attempt = { site: clientSite(address), isKnown: await isKnown(storage, ask) };
  const passwordRight = await context.hasher.matches(ask.password.slice(0, 1024), password, attempt);
  const now = context.now();
  const step = acceptedStep({ secret: totp?.secret ?? decoySecret, code: ask.code, now, lastStep: totp?.last_step });
  if (user === undefined || stored === undefined || totp === undefined || !passwordRight || step === undefined) {
    throw wrongError(await countWrong(context, ask));
  }
  const lock = findLock(await listLocks(storage), { user: user.metadata.name, userId, roles: user.spec.roles, now });
  if (lock !== undefined) throw lockedError(lock);
  const identity = await userIdentity(context, user, { userId, ttlSeconds, most: loginTtl, address });
  const { result, writes, sid, password: changed = password } = await give({ identity, userId, now });
  const credential = { ...stored.credential, ...(changed !== undefined && { password: changed }), totp: { secret: totp.secret, last_step: step } };
  const spent = { ...stored, credential };
  await spendCode(context, ask, { spent, writes });
  context.audit.emit({ ...eventOf(ask, sid), success: true, user: name, "addr.remote": ask.address });
  return result;
}

/** Changes of a user's own credential. */
type OwnChange = "user.password_change" | "user.authenticator_start";
type LoginEvent = { readonly event: OwnChange } | ({ readonly event: "user.login"; readonly sid?: string } & Pick<LoginWay, "method">);

function eventOf({ event = "user.login", method }: LoginWay, sid?: string): LoginEvent {
  if (event !== "user.login") return { event };
  return { event, ...(method !== undefined && { method }), ...(sid !== undefined && { sid }) };
}

/** Counts and audits a wrong password or code; returns the time until which that address must wait, if it must. */
export async function countWrong(context: AuthContext, ask: LoginTry & { readonly name: string }): Promise<Date | undefined> {
  const until = await countFailure(context.storage, ask, context.now());
  if (until !== undefined) {
    context.audit.emitRefusal({ event: "user.locked", user: ask.name, locked_until: until.toISOString(), "addr.remote": ask.address });
  }
  return until;
}

/** For the try after which an address must wait. */
export function wrongHint(locked: Date): string {
  return `that was one try too many: this user name is locked for this address until ${locked.toISOString()}; wait, or ask an admin for: tctl users unlock`;
}

/** The answer to a wrong attempt; `locked`: until when the name is locked for its address. */
export function wrongError(locked: Date | undefined, what = "wrong user name, password or one-time code"): PlatformError {
  const hint = locked === undefined ? "a code is valid once: wait for the next one" : wrongHint(locked);
  return new PlatformError("unauthenticated", what, { hint });
}

interface Spending {
  readonly spent: StoredCredential;
  readonly writes: readonly Write[];
}

/** Stores that the code was used, together with these writes. Throws `unauthenticated` where the user was changed meanwhile. */
export async function spendCode(context: AuthContext, ask: LoginTry, { spent, writes }: Spending): Promise<void> {
  try {
    await context.storage.batch([credentialWrite(ask.user, spent.credential, spent), ...rememberLogin(ask, context.now()), ...writes]);
  } catch (thrown) {
    if (!(thrown instanceof PlatformError) || thrown.code !== "conflict") throw thrown;
    throw new PlatformError("unauthenticated", "the password or the authenticator was changed meanwhile, or the code was used", {
      cause: thrown,
      hint: "log in again",
    });
  }
}
