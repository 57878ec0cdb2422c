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

/** A user who proves by password and code to be that user. */
export interface LoginProof extends LoginTry {
  readonly password: string;
  readonly code: string;
}

export interface LoginAsk extends LoginProof {
  readonly sshPublicKey: string;
  readonly tlsPublicKey: string;
  /** 0: the default. */
  readonly ttlSeconds: number;
}

/** A user whose proof is right. */
export interface Proven {
  readonly identity: UserIdentity;
  readonly userId: string | undefined;
  readonly now: Date;
}

/** What a login gives: it is only given if the proof can be used up, together with these writes. */
export interface Given<T> {
  readonly result: T;
  readonly writes: readonly Write[];
  /** Session in a browser. */
  readonly sid?: string;
  /** The new password, stored together with the used code. */
  readonly password?: Credential["password"];
}

/** How a user proves to be that user. */
export interface Proof {
  /**
   * Undefined for a wrong one, after the same work whether or not there is such a user. What it throws does not count as a failed attempt, and may not depend on
   * the user.
   */
  check(claimed: Claimed): Promise<Shown | undefined>;
  /** The answer to a wrong one; `locked`: until when the name is locked for its address. */
  wrong(locked: Date | undefined): PlatformError;
}

/** The user that an attempt is for. */
export interface Claimed extends LoginTry {
  readonly userId: string | undefined;
  /** Undefined if the user does not exist. */
  readonly stored: StoredCredential | undefined;
}

/** A right proof. */
export interface Shown {
  /** Writes that use it up: they fail where it was used, or the user changed, meanwhile. */
  used(given: Pick<Given<unknown>, "password">): readonly Write[];
  /** Recorded with the login. */
  readonly device?: string;
}

/** A login, or another change for which the user proves to be the same. */
export interface LoginWay extends LoginTry {
  readonly proof: Proof;
  /** Recorded for the attempt; default `user.login`. */
  readonly event?: "user.login" | OwnChange;
  readonly method?: "browser" | "passkey";
  /** The device that is added or removed. */
  readonly device?: string;
  /** 0: the default. */
  readonly ttlSeconds?: number;
}

/** Replaces the secret of a user without one, so that both cost the same. */
const decoySecret = newTotpSecret();

/** Exchanges password and one-time code for certificates. Throws as `loginWith`. */
export async function login(context: AuthContext, ask: LoginAsk): Promise<IssuedCertificates> {
  return await loginWith(context, { ...ask, proof: byPassword(context, ask) }, async ({ identity, now }) => ({
    result: await context.authorities.issueUser(identity, { ...ask, now }),
    writes: [],
  }));
}

/**
 * Exchanges a proof for what `give` gives. Unknown users and wrong proofs get the same answer for the same work; after five of them in a row the name,
 * existing or not, is locked for 30 minutes for that address.
 */
export async function loginWith<T>(context: AuthContext, ask: LoginWay, give: (proven: Proven) => Promise<Given<T>>): Promise<T> {
  const unnamed = ask.method === "passkey" ? "(unknown passkey)" : "(not a user name)";
  const name = nameText.safeParse(ask.user).success ? ask.user : unnamed;
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
  const { name, ttlSeconds = 0, address, proof } = ask;
  const locked = await throttledUntil(storage, ask);
  if (locked !== undefined) throw throttledError(locked);
  const userId = await readUserId(storage, ask.user);
  const user = await findUser(context, ask.user);
  const stored = await readCredential(storage, ask.user);
  const shown = await proof.check({ user: ask.user, address, userId, stored: user === undefined ? undefined : stored });
  if (user === undefined || shown === undefined) throw proof.wrong(await countWrong(context, ask));
  const now = context.now();
  const lock = findLock(await listLocks(storage), { user: user.metadata.name, userId, roles: user.spec.roles, now });
  if (lock !== undefined) throw lockedError(lock);
  const identity = await userIdentity(context, user, { userId, ttlSeconds, most: loginTtl, address });
  const { result, writes, sid, password } = await give({ identity, userId, now });
  await useUp(context, ask, [...shown.used({ password }), ...writes]);
  const event = { ...eventOf({ device: shown.device, ...ask }, sid), success: true, user: name, "addr.remote": ask.address } as const;
  context.audit.emit(event);
  return result;
}

/** Password and one-time code. */
export function byPassword(context: AuthContext, { password, code }: Pick<LoginProof, "password" | "code">): Proof {
  return {
    check: async ({ stored, ...attempt }) => {
      const { password: hash, totp } = stored?.credential ?? {};
      const from = { site: clientSite(attempt.address), isKnown: await isKnown(context.storage, attempt) };
      const isRight = await context.hasher.matches(password.slice(0, 1024), hash, from);
      const step = acceptedStep({ secret: totp?.secret ?? decoySecret, code, now: context.now(), lastStep: totp?.last_step });
      if (stored === undefined || totp === undefined || !isRight || step === undefined) return undefined;
      return {
        used: ({ password: changed }) => {
          const credential = {
            ...stored.credential,
            ...(changed !== undefined && { password: changed }),
            totp: { secret: totp.secret, last_step: step },
          };
          return [credentialWrite(attempt.user, credential, stored)];
        },
      };
    },
    wrong: (locked) => wrongError(locked),
  };
}

/** Changes of a user's own credential. */
type OwnChange = "user.password_change" | "user.authenticator_start" | DeviceChange;
type DeviceChange = "mfa.add_start" | "mfa.delete";
type LoginEvent =
  | { readonly event: Exclude<OwnChange, DeviceChange> }
  | { readonly event: DeviceChange; readonly mfa_device: string }
  | ({ readonly event: "user.login"; readonly sid?: string; readonly mfa_device?: string } & Pick<LoginWay, "method">);

function eventOf(
  { event = "user.login", method, device }: Pick<LoginWay, "event" | "method"> & { readonly device?: string | undefined },
  sid?: string,
): LoginEvent {
  if (event === "mfa.add_start" || event === "mfa.delete") return { event, mfa_device: device ?? "" };
  if (event !== "user.login") return { event };
  return { event, ...(method !== undefined && { method }), ...(sid !== undefined && { sid }), ...(device !== undefined && { mfa_device: device }) };
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
  await useUp(context, ask, [credentialWrite(ask.user, spent.credential, spent), ...writes]);
}

/** Stores that a proof was used, together with these writes. Throws `unauthenticated` where it was used, or the user changed, meanwhile. */
export async function useUp(context: AuthContext, ask: LoginTry, writes: readonly Write[]): Promise<void> {
  try {
    await context.storage.batch([...rememberLogin(ask, context.now()), ...writes]);
  } catch (thrown) {
    if (!(thrown instanceof PlatformError) || (thrown.code !== "conflict" && thrown.code !== "already_exists")) throw thrown;
    throw new PlatformError("unauthenticated", "the password, the authenticator or the passkey was changed or used meanwhile", {
      cause: thrown,
      hint: "log in again",
    });
  }
}
