import type { Duplex } from "node:stream";
import { PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { EngineSession, ServerAccess } from "../engine.ts";
import { FrameFilter } from "../frame-filter.ts";
import { type RelayedFrames, relayFrames } from "../relay-frames.ts";
import type { CancelKeys, IssuedKey } from "./cancel-keys.ts";
import { cancelOf } from "./cancel-query.ts";
import { ClientAudit } from "./client-audit.ts";
import { encodeFatal } from "./error-response.ts";
import type { CancelKey } from "./first-packet.ts";
import { HeldRecords } from "./held-records.ts";
import { Pipeline } from "./pipeline.ts";
import { ServerMessages, serverFormat } from "./server-messages.ts";

export interface OpenSession {
  readonly session: EngineSession;
  readonly access: ServerAccess;
  /** Has got the startup packet. */
  readonly server: Duplex;
  readonly keys: CancelKeys;
}

/** Time for the server's login, from the startup packet to the first ReadyForQuery, ms. */
const loginMs = 30_000;

/** Relays everything from the server's answer to the startup packet on, until the session's end. The result is its reason, if a failure ended it. */
export async function relaySession(open: OpenSession): Promise<PlatformError | undefined> {
  const { session, server } = open;
  const over = new AbortController();
  const end = (thrown: unknown): void => over.abort(toPlatformError(thrown));
  const records = new HeldRecords(session, end);
  const pipeline = new Pipeline();
  const audit = new ClientAudit({ record: records.record, pipeline, isStrict: session.isStrict, statements: session.statements });
  const timer = setTimeout(() => end(new PlatformError("unavailable", `the server's login took more than ${loginMs / 1000} s`)), loginMs);
  let issued: IssuedKey | undefined;
  const replaceKey = (key: CancelKey): CancelKey | undefined => {
    session.servedBy?.(key.pid);
    issued = issueKey(open, key);
    return issued?.key;
  };
  const messages = new ServerMessages({ pipeline, replaceKey, onReady: () => clearTimeout(timer) });
  server.once("end", () => {
    const isExpected = audit.hasLeft || session.client.readableEnded || messages.fatal !== undefined;
    if (!isExpected) end(new PlatformError("unavailable", "the server closed the connection"));
  });
  const { reason } = await relayFrames({
    ...accounts(session, records),
    client: session.client,
    server,
    fromClient: new FrameFilter(audit.format, audit.judge),
    fromServer: new FrameFilter(serverFormat, messages.judge),
    signal: AbortSignal.any([session.signal, over.signal]),
  });
  clearTimeout(timer);
  issued?.[Symbol.dispose]();
  pipeline.close();
  audit.flush();
  return reason ?? messages.fatal;
}

/** What the session keeps account of, and the words at its end. */
function accounts(session: EngineSession, records: HeldRecords): Pick<RelayedFrames, "untilSafe" | "onClient" | "onServer" | "lastWords"> {
  return {
    untilSafe: session.isStrict === true ? () => records.held : undefined,
    onClient: (received) => {
      session.touch();
      session.count({ received });
      return records.held;
    },
    onServer: (transmitted) => {
      session.touch();
      session.count({ transmitted });
    },
    lastWords: (why) => {
      const isRule = session.signal.aborted && session.signal.reason === why;
      return encodeFatal(why, isRule ? "rule" : "peer", sessionText(session));
    },
  };
}

function issueKey({ session, access, keys }: OpenSession, key: CancelKey): IssuedKey | undefined {
  const { user, database, relayedBy } = session;
  if (user === undefined) return undefined;
  const issued = keys.issue({ user, database: database.name, isOpen: relayedBy !== undefined, cancel: cancelOf(session, access, key) }, key);
  if (issued === undefined) session.log.warn("a session cannot be cancelled: there are too many", { session: session.sid, db: database.name });
  return issued;
}

/** Names a session in the details of an error. */
export function sessionText({ sid, database }: Pick<EngineSession, "sid" | "database">): string {
  return `Session ${sid} of database ${database.name}.`;
}
