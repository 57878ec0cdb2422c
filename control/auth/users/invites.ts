import { createHash, randomBytes } from "node:crypto";
import { z } from "zod";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Entry, Write } from "../../storage/storage.ts";
import type { AuthContext } from "../auth-context.ts";
import { allSessionRemovals } from "../browser-sessions/stored-session.ts";
import { type Actor, documentKey } from "../document.ts";
import { clearFailures } from "../login/login-throttle.ts";
import { allPasskeyRemovals } from "../passkeys/stored-passkeys.ts";
import { acceptedStep, checkPassword, credentialWrite, newTotpSecret, readCredential, totpUri } from "./credentials.ts";

const defaultTtlSeconds = 3_600;
const maxTtlSeconds = 48 * 3_600;
/** How long expired and used invites are remembered, ms, so that their refusal has a reason. */
const rememberedMs = 7 * 24 * 3_600_000;

const inviteSchema = z.strictObject({
  user: z.string(),
  /** Removed when the invite is used. */
  totp_secret: z.string().optional(),
  expires: z.string(),
  used: z.boolean(),
});
type Invite = z.infer<typeof inviteSchema>;

/** A one-time link for a user. The user's earlier credential, passkeys, earlier invites and sessions in browsers stop working at once. */
export async function createInvite(
  context: AuthContext,
  ask: { user: string; ttlSeconds: number; actor: Actor },
): Promise<{ token: string; expires: Date }> {
  const { user, actor } = ask;
  const ttl = ask.ttlSeconds === 0 ? defaultTtlSeconds : ask.ttlSeconds;
  if (ttl > maxTtlSeconds) throw new PlatformError("invalid", `invite lifetime of ${ttl} s exceeds the maximum of 48 h`);
  const userEntry = await context.storage.get(documentKey("user", user));
  if (userEntry === undefined) throw new PlatformError("not_found", `user ${user} does not exist`, { hint: "create the user with: tctl users add" });
  const before = await readCredential(context.storage, user);
  const token = randomBytes(32).toString("hex");
  const hash = hashOf(token);
  const expires = new Date(context.now().getTime() + ttl * 1000);
  const writes: Write[] = [
    inviteWrite(hash, { user, totp_secret: newTotpSecret(), expires: expires.toISOString(), used: false }, "absent"),
    credentialWrite(user, { invite: hash }, before),
    ...(await clearFailures(context.storage, user, true)),
    ...(await allSessionRemovals(context.storage, user)),
    ...(await allPasskeyRemovals(context.storage, user)),
  ];
  const old = before?.credential.invite;
  if (old !== undefined) writes.push({ key: inviteKey(old) });
  await context.storage.batch(writes);
  context.audit.emit({ event: "invite.create", user: actor.name, name: user, expires: expires.toISOString(), "addr.remote": actor.address });
  return { token, expires };
}

/** The purpose of a link. The one-time code's secret is the same at every call. */
export async function getInvite(context: AuthContext, ask: { token: string; address: string }): Promise<{ user: string; otpauthUri: string }> {
  const { invite, secret } = await refusing(context, ask, undefined, () => openInvite(context, ask.token));
  return { user: invite.user, otpauthUri: totpUri({ secret, user: invite.user, cluster: context.clusterName }) };
}

/** Sets password and code. Of several concurrent calls only one succeeds. */
export async function acceptInvite(context: AuthContext, ask: { token: string; password: string; code: string; address: string }): Promise<string> {
  const { invite, entry, secret } = await refusing(context, ask, undefined, () => openInvite(context, ask.token));
  const { user } = invite;
  await refusing(context, ask, user, async () => {
    checkPassword(ask.password);
    const step = acceptedStep({ secret, code: ask.code, now: context.now(), lastStep: undefined });
    if (step === undefined) {
      throw new PlatformError("invalid", "the one-time code is wrong", {
        hint: "check the clock of the device that shows the code, and use the newest code",
      });
    }
    const password = await context.hasher.make(ask.password);
    const before = await readCredential(context.storage, user);
    if (before?.credential.invite !== hashOf(ask.token)) throw usedError();
    const spent = { user, expires: invite.expires, used: true };
    const credential = { password, totp: { secret, last_step: step } };
    // Where the link was made by a version that knows no passkeys, they are there still.
    const passkeys = await allPasskeyRemovals(context.storage, user);
    const used = inviteWrite(hashOf(ask.token), spent, { revision: entry.revision });
    try {
      await context.storage.batch([used, credentialWrite(user, credential, before), ...passkeys]);
    } catch (thrown) {
      throw thrown instanceof PlatformError && thrown.code === "conflict" ? usedError() : thrown;
    }
  });
  context.audit.emit({ event: "invite.accepted", user, "addr.remote": ask.address });
  return user;
}

export function inviteKey(hash: string): string {
  return `/invite/${hash}`;
}

async function openInvite({ storage, now }: AuthContext, token: string): Promise<{ invite: Invite; entry: Entry; secret: string }> {
  const entry = /^[0-9a-f]{64}$/.test(token) ? await storage.get(inviteKey(hashOf(token))) : undefined;
  if (entry === undefined) throw new PlatformError("not_found", "this invite link is unknown", { hint: "ask an admin for a new one" });
  const invite = inviteSchema.parse(JSON.parse(entry.value));
  if (invite.used || invite.totp_secret === undefined) throw usedError();
  if (now() >= new Date(invite.expires)) {
    throw new PlatformError("denied", `this invite link expired at ${invite.expires}`, { hint: "ask an admin for a new one" });
  }
  return { invite, entry, secret: invite.totp_secret };
}

/** Audits the work's refusals. */
async function refusing<T>(context: AuthContext, ask: { address: string }, user: string | undefined, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (thrown instanceof PlatformError) {
      context.audit.emitRefusal({ event: "invite.refused", error: thrown.message, "addr.remote": ask.address, ...(user !== undefined && { user }) });
    }
    throw thrown;
  }
}

function usedError(): PlatformError {
  return new PlatformError("denied", "this invite link was already used", { hint: "ask an admin for a new one" });
}

function inviteWrite(hash: string, invite: Invite, expect: Write["expect"]): Write {
  const expires = new Date(new Date(invite.expires).getTime() + rememberedMs);
  return { key: inviteKey(hash), value: JSON.stringify(invite), expires, expect };
}

function hashOf(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}
