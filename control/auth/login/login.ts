import { setTimeout as sleep } from "node:timers/promises";
import { findLock, lockedError } from "../../../core/access/find-lock.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { nameText } from "../../../core/resources/metadata.ts";
import { clientNetwork } from "../../limits/request-limit.ts";
import { listLocks } from "../access/locks.ts";
import type { AuthContext } from "../auth-context.ts";
import type { IssuedCertificates } from "../authority/issue-certificates.ts";
import { loginTtl, userIdentity } from "../certificates/user-identity.ts";
import { acceptedStep, credentialWrite, newTotpSecret, readCredential } from "../users/credentials.ts";
import { findUser, readUserId } from "../users/users.ts";
import { countFailure, type LoginTry, rememberLogin, throttledError, throttledUntil, waitOf } from "./login-throttle.ts";

export interface LoginAsk {
  readonly user: string;
  readonly password: string;
  readonly code: string;
  readonly sshPublicKey: string;
  readonly tlsPublicKey: string;
  /** 0: the default. */
  readonly ttlSeconds: number;
  readonly address: string;
}

/** Replaces the secret of a user without one, so that both cost the same. */
const decoySecret = newTotpSecret();

/**
 * Exchanges password and one-time code for certificates. Unknown users, wrong passwords and wrong codes get the same answer for the
 * same work; after five of them in a row the name, existing or not, is locked for 30 minutes for that address.
 */
export async function login(context: AuthContext, ask: LoginAsk): Promise<IssuedCertificates> {
  const name = nameText.safeParse(ask.user).success ? ask.user : "(not a user name)";
  try {
    const user = ask.user.slice(0, 256);
    // One at a time per name and address; delayed logins from unknown addresses run one after the other.
    const issued = await context.queues(`login ${user} ${clientNetwork(ask.address)}`, async () => {
      const waitMs = await waitOf(context.storage, ask);
      if (waitMs > 0) await context.slowQueues(user, () => sleep(waitMs));
      return await context.queues(`login ${user}`, () => prove(context, ask, name));
    });
    return issued;
  } catch (thrown) {
    const error = thrown instanceof PlatformError ? thrown.message : "internal error";
    context.audit.emitRefusal({ event: "user.login", success: false, user: name, error, "addr.remote": ask.address });
    throw thrown;
  }
}

async function prove(context: AuthContext, ask: LoginAsk, name: string): Promise<IssuedCertificates> {
  const { storage } = context;
  const locked = await throttledUntil(storage, ask);
  if (locked !== undefined) throw throttledError(locked);
  const userId = await readUserId(storage, ask.user);
  const user = await findUser(context, ask.user);
  const stored = await readCredential(storage, ask.user);
  const { password, totp } = user === undefined ? {} : (stored?.credential ?? {});
  const passwordRight = await context.hasher.matches(ask.password.slice(0, 1024), password);
  const now = context.now();
  const step = acceptedStep({ secret: totp?.secret ?? decoySecret, code: ask.code, now, lastStep: totp?.last_step });
  if (user === undefined || stored === undefined || totp === undefined || !passwordRight || step === undefined) {
    const until = await countFailure(storage, ask, now);
    if (until !== undefined) {
      context.audit.emitRefusal({ event: "user.locked", user: name, locked_until: until.toISOString(), "addr.remote": ask.address });
    }
    throw wrongError(until);
  }
  const lock = findLock(await listLocks(storage), { user: user.metadata.name, userId, roles: user.spec.roles, now });
  if (lock !== undefined) throw lockedError(lock);
  const { ttlSeconds, address } = ask;
  const identity = await userIdentity(context, user, { userId, ttlSeconds, most: loginTtl, address });
  const issued = await context.authorities.issueUser(identity, { ...ask, now });
  await spendCode(context, ask, { ...stored, credential: { ...stored.credential, totp: { secret: totp.secret, last_step: step } } });
  context.audit.emit({ event: "user.login", success: true, user: name, "addr.remote": ask.address });
  return issued;
}

function wrongError(locked: Date | undefined): PlatformError {
  const hint =
    locked === undefined
      ? "a code is valid once: wait for the next one"
      : `that was one try too many: this user name is locked for this address until ${locked.toISOString()}; wait, or ask an admin for: tctl users unlock`;
  return new PlatformError("unauthenticated", "wrong user name, password or one-time code", { hint });
}

async function spendCode(context: AuthContext, ask: LoginTry, next: NonNullable<Awaited<ReturnType<typeof readCredential>>>): Promise<void> {
  try {
    await context.storage.batch([credentialWrite(ask.user, next.credential, next), ...rememberLogin(ask, context.now())]);
  } catch (thrown) {
    if (!(thrown instanceof PlatformError) || thrown.code !== "conflict") throw thrown;
    throw new PlatformError("unauthenticated", "the password and code were changed during this login", { cause: thrown, hint: "log in again" });
  }
}
