import { maxText } from "../../../core/audit/event-spec.ts";
import { PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { EngineSession, ServerAccess } from "../engine.ts";
import type { CancelKeys } from "./cancel-keys.ts";
import { type CancelKey, encodeCancel } from "./first-packet.ts";
import { openServer } from "./open-server.ts";

/** Time that the server has to take a request, ms; it closes the connection then. */
const takenMs = 5_000;

/**
 * Serves a client whose only message is the request to cancel another session's query. It gets no answer; its connection ends once the server has taken the
 * request. Throws PlatformError `denied` for a key that is not one of the same user's running sessions.
 */
export async function serveCancel({ user, database }: EngineSession, key: CancelKey, keys: CancelKeys): Promise<void> {
  const target = user === undefined ? undefined : keys.find(key, { user, database: database.name });
  if (target === undefined) throw new PlatformError("denied", "the request to cancel a query has no key of a running session of this user");
  await target.cancel();
}

/** Maximum number of requests of one session that are on their way to its server. */
const maxRequests = 8;

/** Cancels the running query of a session at its server, by the server's own key, and records that. Throws PlatformError. */
export function cancelOf(session: EngineSession, access: ServerAccess, key: CancelKey): () => Promise<void> {
  let running = 0;
  return async () => {
    if (running >= maxRequests) throw new PlatformError("limit", `${maxRequests} requests to cancel this session's query are on their way already`);
    running += 1;
    try {
      await cancelQuery(session, access, key);
    } finally {
      running -= 1;
    }
  };
}

async function cancelQuery(session: EngineSession, access: ServerAccess, key: CancelKey): Promise<void> {
  try {
    await sendCancel(access, key, session.signal);
  } catch (thrown) {
    await session.record({ event: "db.session.cancel", success: false, error: toPlatformError(thrown).message.slice(0, maxText) });
    throw thrown;
  }
  await session.record({ event: "db.session.cancel", success: true });
}

async function sendCancel(access: ServerAccess, key: CancelKey, signal: AbortSignal): Promise<void> {
  const server = await openServer(access, signal);
  const { promise: taken, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, takenMs);
  server.on("error", resolve).once("close", resolve).resume().write(encodeCancel(key));
  await taken;
  clearTimeout(timer);
  server.destroy();
}
