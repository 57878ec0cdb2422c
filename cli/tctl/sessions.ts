import { activeSessions, sessionsResult } from "../active-sessions.ts";
import type { Call } from "../command.ts";
import type { Result } from "../output.ts";
import { withAdmin } from "./connect.ts";

/** `tctl sessions ls`: lists the running terminal sessions. */
export async function listSessions(call: Call): Promise<Result> {
  return await withAdmin(call, async ({ client }) => sessionsResult(await activeSessions(client)));
}
