import type { AuthClient } from "../../../core/api/auth-client.ts";
import { readDocument } from "../../../core/resources/document.ts";
import { type ActiveSession, sessionDocument } from "../../../core/resources/session.ts";

/** Requests the session with this id from the auth service. Throws when that fails. */
export async function findSession(auth: Pick<AuthClient, "findSession">, sid: string): Promise<ActiveSession | undefined> {
  const { sessionJson } = await auth.findSession({ sessionId: sid.slice(0, 64) });
  return sessionJson === "" ? undefined : readDocument(sessionDocument, sessionJson);
}
