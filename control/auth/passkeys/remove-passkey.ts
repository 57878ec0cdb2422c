import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { AuthContext } from "../auth-context.ts";
import { otherSessions, reportEnded } from "../browser-sessions/end-sessions.ts";
import { proveAgain } from "../browser-sessions/prove-again.ts";
import type { StoredSession } from "../browser-sessions/stored-session.ts";
import { byPassword } from "../login/login.ts";
import type { PasskeySite } from "./challenges.ts";
import { confirmByPasskey, type OfferedChallenge, startConfirmation } from "./confirm-by-passkey.ts";
import { deviceName, idOf, passkeysWrite, readPasskeys, type StoredPasskey } from "./stored-passkeys.ts";
import type { PasskeyAnswer } from "./use-assertion.ts";

/** A passkey of the user, in a browser's session. */
export interface OwnPasskey {
  readonly user: string;
  readonly userId: string | undefined;
  readonly sessionId: string;
  readonly address: string;
  /** As in lists. */
  readonly id: string;
}

/** What proves that it is the user who removes it. */
export type RemovalProof = { readonly password: string; readonly code: string } | { readonly answer: Omit<PasskeyAnswer, "browser"> };

/** A challenge with which any passkey of the user confirms the removal of this one. Throws `not_found`. */
export async function startRemoval(context: AuthContext, ask: OwnPasskey & { readonly site: PasskeySite }): Promise<OfferedChallenge> {
  await find(context, ask);
  return await startConfirmation(context, { ...removalOf(ask), site: ask.site });
}

/**
 * Removes a passkey of the user, for password and one-time code or for an assertion of a passkey. All other sessions of the user in browsers end with it, as with a
 * new password: a thief of the passkey may have opened them. Returns their number. Throws `not_found`, `denied`, `limit`; recorded.
 */
export async function removePasskey(context: AuthContext, ask: OwnPasskey, proof: RemovalProof): Promise<number> {
  const ended = await remove(context, ask, proof);
  reportEnded(context, ended, ask.address);
  return ended.length;
}

async function remove(context: AuthContext, ask: OwnPasskey, proof: RemovalProof): Promise<readonly StoredSession[]> {
  const { user, address } = ask;
  const device = deviceName(await find(context, ask));
  if ("password" in proof) {
    const way = { user, address, proof: byPassword(context, proof), event: "mfa.delete", device } as const;
    return await proveAgain(context, way, async () => {
      const { ended, writes } = await removal(context, ask);
      return { result: ended, writes };
    });
  }
  const event = { event: "mfa.delete", user, mfa_device: device, "addr.remote": address } as const;
  try {
    await confirmByPasskey(context, { ...removalOf(ask), answer: proof.answer, address });
    const ended = await context.queues(`login ${user}`, async () => {
      const { ended: sessions, writes } = await removal(context, ask);
      await context.storage.batch(writes);
      return sessions;
    });
    context.audit.emit({ ...event, success: true });
    return ended;
  } catch (thrown) {
    context.audit.emitRefusal({ ...event, success: false, error: thrown instanceof PlatformError ? thrown.message : "internal error" });
    throw thrown;
  }
}

function removalOf({ user, userId, sessionId, id }: OwnPasskey) {
  return { user, userId, browser: sessionId, scope: "remove", target: { kind: "passkey", name: id } } as const;
}

async function find({ storage }: Pick<AuthContext, "storage">, { user, userId, id }: OwnPasskey): Promise<StoredPasskey> {
  const found = (await readPasskeys(storage, user, userId))?.passkeys.find((one) => idOf(one) === id);
  if (found === undefined) throw notFound();
  return found;
}

/** The handle stays with a user who has none left: authenticators then know the user again. */
async function removal(context: AuthContext, { user, userId, sessionId, id }: OwnPasskey) {
  const before = await readPasskeys(context.storage, user, userId);
  const left = before?.passkeys.filter((one) => idOf(one) !== id) ?? [];
  if (before === undefined || left.length === before.passkeys.length) throw notFound();
  const { sessions: ended, removals } = await otherSessions(context, { user, id: sessionId });
  return { ended, writes: [passkeysWrite(user, { ...before, passkeys: left }, before), ...removals] };
}

function notFound(): PlatformError {
  return new PlatformError("not_found", "you have no such passkey", { hint: "reload the page: it may have been removed already" });
}
