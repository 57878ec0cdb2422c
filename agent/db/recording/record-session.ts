import type { PlatformError } from "../../../core/errors/platform-error.ts";
import { type RecordingMode, recordedAt } from "../../../core/resources/recording.ts";
import { recordOrLog } from "../../service/record-or-log.ts";
import type { ServiceDeps } from "../../service/service.ts";
import type { Database } from "../database.ts";
import type { DatabaseNames } from "../engine.ts";
import { SessionRecording } from "./session-recording.ts";

export interface SessionToRecord {
  readonly sid: string;
  /** As certified. */
  readonly user: string;
  readonly database: Database;
  readonly names: DatabaseNames;
  /** Of the cluster. */
  readonly mode: RecordingMode;
  /** A role demands it (`record_session: strict`). */
  readonly isStrict: boolean;
  /** Ends the session. */
  readonly end: (why: PlatformError) => void;
}

const short = 256;

/**
 * The recording of a session by the cluster's mode; undefined when it is not recorded. It is made here in the modes `proxy` and `proxy-sync` too: a
 * proxy relays ciphertext of databases. A failure is audited.
 */
export function recordSession(session: SessionToRecord, deps: Pick<ServiceDeps, "audit" | "log" | "node" | "credentials" | "recordings" | "now">) {
  const how = recordedAt(session.mode);
  if (how === undefined) return undefined;
  const { sid, user, database, names, isStrict, end } = session;
  const started = (deps.now ?? (() => new Date()))().toISOString();
  const recorded = {
    sid,
    server_id: deps.credentials().hostId,
    server_name: deps.node.name,
    user: user.slice(0, short),
    kind: "db",
    resource: database.name,
  };
  const onFailed = (why: PlatformError): void => {
    deps.log.error("a session of a database is not recorded", { session: sid, db: database.name, error: why });
    void recordOrLog(deps, { event: "session.recording.failed", ...recorded, reason: why.message.slice(0, 2_000) });
  };
  const at = { account: (names.user ?? "").slice(0, short), name: (names.name ?? "").slice(0, short) };
  return new SessionRecording({
    facts: { ...recorded, format: "statements", started },
    header: { started, protocol: database.protocol, database: database.name, ...at },
    isStrict,
    isSync: how.isSync,
    recordings: deps.recordings,
    onFailed,
    end,
  });
}
