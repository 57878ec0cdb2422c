import type { AuthClient } from "../../../core/api/auth-client.ts";
import { parseJsonAs } from "../../../core/bytes/parse-json.ts";
import { type ActiveSession, activeSessionSchema } from "../../../core/resources/session.ts";

/** Requests the session with this id from the auth service. Throws when that fails. */
export async function findSession(auth: Pick<AuthClient, "findSession">, sid: string): Promise<ActiveSession | undefined> {
  const { sessionJson } = await auth.findSession({ sessionId: sid.slice(0, 64) });
  return sessionJson === "" ? undefined : parseJsonAs(activeSessionSchema, sessionJson, "a running session");
}
