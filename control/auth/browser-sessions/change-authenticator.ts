import { createHash } from "node:crypto";
import { z } from "zod";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Entry, Storage, Write } from "../../storage/storage.ts";
import type { AuthContext } from "../auth-context.ts";
import { byPassword, countWrong, type LoginProof, wrongHint } from "../login/login.ts";
import { type LoginTry, rememberLogin, throttledError, throttledUntil } from "../login/login-throttle.ts";
import { ownPasskeyRemovals, reportRemoved } from "../passkeys/remove-all.ts";
import type { StoredPasskey } from "../passkeys/stored-passkeys.ts";
import { acceptedStep, credentialWrite, newTotpSecret, readCredential, type StoredCredential, totpUri } from "../users/credentials.ts";
import { otherSessions, reportEnded } from "./end-sessions.ts";
import { proveAgain } from "./prove-again.ts";
import type { StoredSession } from "./stored-session.ts";

/** Time to confirm a new authenticator, ms. */
const confirmMs = 600_000;

/** A new authenticator that does not count yet; one for each user. */
const newAuthenticatorSchema = z.strictObject({
  secret: z.string(),
  /** The browser session that may confirm it. */
  session: z.string(),
  /** Hash of the secret that it replaces: a reset in between makes it void. */
  replaces: z.string(),
  expires: z.string(),
});

export interface AuthenticatorStart extends LoginProof {
  readonly sessionId: string;
}

/**
 * A new secret for the user's authenticator, as `otpauth://` URI, for the password and a code of the old one, with the throttle of every login. The old one counts
 * until `confirmAuthenticator`. Throws `denied` for a wrong password or code, and `limit` after too many.
 */
export async function startAuthenticator(context: AuthContext, ask: AuthenticatorStart): Promise<string> {
  const secret = newTotpSecret();
  return await proveAgain(
    context,
    { ...ask, proof: byPassword(context, ask), event: "user.authenticator_start" },
    async ({ identity: { name: user }, now }) => {
      const old = (await readCredential(context.storage, user))?.credential.totp?.secret ?? "";
      const expires = new Date(now.getTime() + confirmMs);
      const value = { secret, session: ask.sessionId, replaces: hashOf(old), expires: expires.toISOString() };
      const write = { key: keyOf(user), value: JSON.stringify(newAuthenticatorSchema.parse(value)), expires };
      return { result: totpUri({ secret, user, cluster: context.clusterName }), writes: [write] };
    },
  );
}

export interface AuthenticatorProof extends LoginTry {
  readonly userId: string | undefined;
  readonly sessionId: string;
  readonly code: string;
  /** Removes all passkeys of the user too. */
  readonly removePasskeys: boolean;
}

/**
 * Replaces the user's authenticator by the one that the same session has started, for a code of it. All other sessions of the user in browsers end with it, as with
 * a new password, and so do all passkeys where that is asked. Returns the number of sessions. Wrong codes count as failed logins. Throws `denied` for a wrong one, `limit` after too many, and `not_found` if there is
 * nothing to confirm.
 */
export async function confirmAuthenticator(context: AuthContext, ask: AuthenticatorProof): Promise<number> {
  const event = { event: "user.authenticator_change", user: ask.user, "addr.remote": ask.address } as const;
  try {
    const { ended, removed } = await context.queues(`login ${ask.user}`, () => replace(context, ask));
    context.audit.emit({ ...event, success: true });
    reportRemoved(context, removed, ask);
    reportEnded(context, ended, ask.address);
    return ended.length;
  } catch (thrown) {
    context.audit.emitRefusal({ ...event, success: false, error: thrown instanceof PlatformError ? thrown.message : "internal error" });
    throw thrown;
  }
}

interface Replaced {
  readonly ended: readonly StoredSession[];
  readonly removed: readonly StoredPasskey[];
}

async function replace(context: AuthContext, ask: AuthenticatorProof): Promise<Replaced> {
  const { storage } = context;
  const locked = await throttledUntil(storage, ask);
  if (locked !== undefined) throw throttledError(locked);
  const now = context.now();
  const { secret, stored } = await started(storage, ask, now);
  const step = acceptedStep({ secret, code: ask.code, now, lastStep: undefined });
  if (step === undefined) {
    const until = await countWrong(context, { ...ask, name: ask.user });
    const hint = until === undefined ? "use its newest code, and check the clock of the device that shows it" : wrongHint(until);
    throw new PlatformError("denied", "wrong code of the new authenticator", { hint });
  }
  const { sessions, removals } = await otherSessions(context, { user: ask.user, id: ask.sessionId });
  const changed = credentialWrite(ask.user, { ...stored.credential, totp: { secret, last_step: step } }, stored);
  const { passkeys, writes } = await ownPasskeyRemovals(context, { ...ask, isAsked: ask.removePasskeys });
  await write(storage, [changed, { key: keyOf(ask.user) }, ...rememberLogin(ask, now), ...removals, ...writes]);
  return { ended: sessions, removed: passkeys };
}

/** The authenticator that the session has started, while the one that it replaces still counts. Throws `not_found`. */
async function started(
  storage: Storage,
  { user, sessionId }: AuthenticatorProof,
  now: Date,
): Promise<{ readonly secret: string; readonly stored: StoredCredential }> {
  const stored = await readCredential(storage, user);
  const found = parsed(await storage.get(keyOf(user)));
  const isOpen = found !== undefined && found.session === sessionId && now < new Date(found.expires);
  if (stored !== undefined && isOpen && found.replaces === hashOf(stored.credential.totp?.secret ?? "")) return { secret: found.secret, stored };
  throw new PlatformError("not_found", "the new authenticator has expired or was not set up", {
    hint: "start again: it has to be confirmed within ten minutes",
  });
}

async function write(storage: Storage, writes: readonly Write[]): Promise<void> {
  try {
    await storage.batch(writes);
  } catch (thrown) {
    if (!(thrown instanceof PlatformError) || thrown.code !== "conflict") throw thrown;
    throw new PlatformError("conflict", "the password or the code was used during this change", { cause: thrown, hint: "try again" });
  }
}

function parsed(entry: Entry | undefined): z.infer<typeof newAuthenticatorSchema> | undefined {
  return entry === undefined ? undefined : newAuthenticatorSchema.parse(JSON.parse(entry.value));
}

function keyOf(user: string): string {
  return `/new_authenticator/${encodeURIComponent(user)}`;
}

function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}
