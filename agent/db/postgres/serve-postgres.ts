import type { Duplex } from "node:stream";
import { maxText } from "../../../core/audit/event-spec.ts";
import { type PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { Engine, EngineSession } from "../engine.ts";
import { CancelKeys, sessionKeys } from "./cancel-keys.ts";
import { serveCancel } from "./cancel-query.ts";
import { encodeFatal } from "./error-response.ts";
import { type CancelPacket, encodeStartup, type StartupPacket } from "./first-packet.ts";
import { type Introduction, judgeStartup, startupFor } from "./judge-startup.ts";
import { openServer } from "./open-server.ts";
import { readFirstPacket } from "./read-first-packet.ts";
import { relaySession, sessionText } from "./relay-session.ts";

export interface PostgresOptions {
  /** Keys of all sessions that can be cancelled; one for the whole service. */
  readonly keys?: CancelKeys;
}

/** Time for a refused client to read the reason, ms. */
const lingerMs = 3_000;

/** The engine of PostgreSQL, protocol 3.0 and 3.2. */
export function postgresEngine({ keys = new CancelKeys() }: PostgresOptions = {}): Engine {
  return async (session) => {
    const { client, signal } = session;
    client.on("error", () => {});
    try {
      return await serveClient(session, keys);
    } catch (thrown) {
      // When a session is cut, running work fails with errors of its own.
      const error = toPlatformError(signal.aborted ? signal.reason : thrown);
      if (error.code === "internal") session.log.error("could not serve a PostgreSQL client", { session: session.sid, error: thrown });
      await refuse(client, encodeFatal(error, signal.aborted ? "rule" : "login", sessionText(session)));
      return error;
    } finally {
      client.destroy();
    }
  };
}

/** With the keys of the whole process, so that one connection can cancel the query of another one. */
export const servePostgres: Engine = postgresEngine({ keys: sessionKeys });

async function serveClient(session: EngineSession, keys: CancelKeys): Promise<PlatformError | undefined> {
  const first = await readStart(session);
  if (first === undefined) return undefined;
  if (first.kind === "cancel") return await answerCancel(session, first, keys);
  const { user, name, ...facts } = await introduced(session, first);
  const access = await session.login({ user, name }, facts);
  const startup = encodeStartup(startupFor(first, { user: access.user, name }));
  const server = await openServer(access, session.signal);
  server.on("error", () => {}).write(startup);
  return await relaySession({ session, access, server, keys });
}

/** Undefined: the client left without sending anything, as a check of the port does. */
async function readStart(session: EngineSession): Promise<StartupPacket | CancelPacket | undefined> {
  const { client, signal } = session;
  try {
    const noteMalformed = (head: Buffer): void => void session.record({ event: "db.session.malformed_packet", payload: head.toString("base64") });
    return await readFirstPacket(client, signal, noteMalformed);
  } catch (thrown) {
    const hasLeft = client.readableEnded || client.destroyed;
    if (hasLeft && toPlatformError(thrown).code === "unavailable") return undefined;
    throw thrown;
  }
}

/** No answer: the client learns only that the request has been dealt with. */
async function answerCancel(session: EngineSession, packet: CancelPacket, keys: CancelKeys): Promise<PlatformError | undefined> {
  try {
    await serveCancel(session, packet, keys);
    return undefined;
  } catch (thrown) {
    const error = toPlatformError(thrown);
    if (error.code === "denied") await session.record({ event: "db.session.cancel", success: false, error: error.message });
    session.log.info("could not cancel a query", { session: session.sid, db: session.database.name, error: thrown });
    return error;
  }
}

/** A refusal before the login is recorded here. */
async function introduced(session: EngineSession, packet: StartupPacket): Promise<Introduction> {
  try {
    return judgeStartup(packet, session.asked);
  } catch (thrown) {
    await session.record({ event: "db.session.start", success: false, error: toPlatformError(thrown).message.slice(0, maxText) });
    throw thrown;
  }
}

/** Sends the reason, and waits until the client has read it and left. */
async function refuse(client: Duplex, reason: Buffer): Promise<void> {
  if (client.destroyed) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, lingerMs);
  client.once("close", resolve).once("end", resolve).resume().end(reason);
  await promise;
  clearTimeout(timer);
}
