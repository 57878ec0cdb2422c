import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Write } from "../../storage/storage.ts";
import type { AuthContext } from "../auth-context.ts";
import type { Actor } from "../document.ts";
import { confirmationRemovals } from "./stored-confirmation.ts";
import { readSession, type StoredSession, sessionRemovals, sessionsOf } from "./stored-session.ts";

/** Ends one session of the user: at once on every proxy, with its sessions of applications. Throws `not_found`, for another user's too. */
export async function endSession(
  context: AuthContext,
  { user, id, actor }: { readonly user: string; readonly id: string; readonly actor: Actor },
): Promise<void> {
  const found = await readSession(context.storage, id);
  if (found === undefined || found.session.user !== user) {
    throw new PlatformError("not_found", `you have no session ${JSON.stringify(id.slice(0, 64))} in a browser`, {
      hint: "it may have ended already",
    });
  }
  await context.storage.batch(await sessionRemovals(context.storage, [found.session]));
  context.audit.emit({ event: "browser_session.end", user: actor.name, name: user, sid: id, "addr.remote": actor.address });
}

/** Ends all sessions of the user. Returns how many there were. */
export async function endAllSessions(context: AuthContext, { user, actor }: { readonly user: string; readonly actor: Actor }): Promise<number> {
  const sessions = await sessionsOf(context.storage, user);
  if (sessions.length === 0) return 0;
  await context.storage.batch(await sessionRemovals(context.storage, sessions));
  for (const { id: sid } of sessions) {
    context.audit.emit({ event: "browser_session.end", user: actor.name, name: user, sid, "addr.remote": actor.address });
  }
  return sessions.length;
}

/** All sessions of the user but one, and the writes that end them, with what was confirmed in the one that stays: another proof counts from then on. */
export async function otherSessions(
  { storage }: AuthContext,
  { user, id }: { readonly user: string; readonly id: string },
): Promise<{ readonly sessions: readonly StoredSession[]; readonly removals: readonly Write[] }> {
  const sessions = (await sessionsOf(storage, user)).filter((one) => one.id !== id);
  return { sessions, removals: [...(await sessionRemovals(storage, sessions)), ...(await confirmationRemovals(storage, id))] };
}

/** Audits that sessions of a user have ended by the user's own act at this address. */
export function reportEnded(context: AuthContext, ended: readonly StoredSession[], address: string): void {
  for (const { id: sid, user: name } of ended) {
    context.audit.emit({ event: "browser_session.end", user: name, name, sid, "addr.remote": address });
  }
}
