import { type PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { Log } from "../../../core/log/log.ts";
import type { OpenRecording } from "../../../core/recording-spool/recording-spool.ts";
import type { Recordings } from "../../../core/recording-spool/recordings.ts";
import { mustBeRecorded, watchUpload } from "../../../core/recording-spool/required-recording.ts";
import { type TerminalWriter, terminalRecording } from "../../../core/recording-spool/terminal-writer.ts";
import type { RecordingFacts } from "../../../core/resources/recording.ts";
import { sessionIdOf } from "../../../core/resources/session.ts";
import type { BeginWatch, TerminalWatcher } from "../../../core/ssh/watch-terminals.ts";
import type { AuditQueue } from "../routing/audit-queue.ts";

export interface RecordedConnection extends Omit<RecordingFacts, "sid" | "started"> {
  /** Id of the first session. */
  readonly connection: string;
  readonly clientAddress: string;
  /** The connection ends when a terminal cannot be recorded, by the mode or by a role. */
  readonly isStrict: boolean;
  /** A session starts only when the auth service has the start of its recording. */
  readonly isSync: boolean;
}

export interface RecordingServices {
  readonly recordings: Pick<Recordings, "begin" | "sendNow">;
  readonly audit: Pick<AuditQueue, "emit">;
  readonly log: Log;
  readonly now: () => Date;
}

/** Records the terminals of one connection. `cut` ends a connection that may not continue without a recording. */
export function recordTerminals(facts: RecordedConnection, services: RecordingServices, cut: (why: PlatformError) => void): BeginWatch {
  const { connection, clientAddress, isStrict, isSync, ...who } = facts;
  const { recordings, audit, log, now } = services;
  return async ({ place, kind, columns, rows }) => {
    const sid = sessionIdOf(connection, place);
    let isTold = false;
    const onFailed = (why: PlatformError): void => {
      if (isTold) return;
      isTold = true;
      log.error("could not record a session", { sid, error: why });
      const reason = why.message.slice(0, 2000);
      audit.emit({ event: "session.recording.failed", ...who, sid, "addr.remote": clientAddress, reason });
      if (isStrict) cut(mustBeRecorded(why));
    };
    let recording: OpenRecording<TerminalWriter> | undefined;
    try {
      const recorded = { ...who, sid, started: now().toISOString() };
      recording = await recordings.begin(terminalRecording({ facts: recorded, term: kind, size: { columns, rows }, onFailed }));
      if (isSync) await recordings.sendNow(recording.spooled);
      return watcherOf(recording, isSync ? watchUpload(recording, onFailed) : () => {});
    } catch (thrown) {
      onFailed(toPlatformError(thrown));
      await recording?.end();
      if (isStrict) throw thrown;
      return undefined;
    }
  };
}

function watcherOf({ writer, end }: OpenRecording<TerminalWriter>, stop: () => void): TerminalWatcher {
  return {
    show: (data) => writer.show(data),
    resize: (columns, rows) => writer.resize(columns, rows),
    end: () => {
      stop();
      void end();
    },
  };
}
