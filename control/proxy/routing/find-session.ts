import type { AuthClient } from "../../../core/api/auth-client.ts";
import { parseJsonAs } from "../../../core/bytes/parse-json.ts";
import { type ActiveSession, activeSessionSchema } from "../../../core/resources/session.ts";

/** Asks the auth service which session runs under this id. Throws when it cannot be asked. */
export async function findSession(auth: Pick<AuthClient, "findSession">, sid: string): Promise<ActiveSession | undefined> {
  const { sessionJson } = await auth.findSession({ sessionId: sid.slice(0, 64) });
  return sessionJson === "" ? undefined : parseJsonAs(activeSessionSchema, sessionJson, "a running session");
}
