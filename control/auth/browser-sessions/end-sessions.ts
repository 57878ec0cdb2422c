import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { AuthContext } from "../auth-context.ts";
import type { Actor } from "../document.ts";
import { readSession, sessionRemovals, sessionsOf } from "./stored-session.ts";

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
