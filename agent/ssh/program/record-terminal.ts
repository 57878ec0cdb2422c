import { type PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import type { OpenRecording } from "../../../core/recording-spool/recording-spool.ts";
import { mustBeRecorded, watchUpload } from "../../../core/recording-spool/required-recording.ts";
import { type TerminalWriter, terminalRecording } from "../../../core/recording-spool/terminal-writer.ts";
import { recordedAt } from "../../../core/resources/recording.ts";
import { recordOrLog } from "../../service/record-or-log.ts";
import type { TerminalSize } from "../../session-join/terminal-size.ts";
import type { SessionChannel, TerminalRecorder } from "../session-channel.ts";
import { sessionFacts } from "../user-connection.ts";

/**
 * Records a terminal according to the cluster's mode; undefined when it is not recorded. A failure is audited. In mode node the session continues,
 * unless a role has record_session: strict; then, and in mode node-sync, it throws, or rejects `failed` later.
 */
export async function recordTerminal(channel: SessionChannel, size: TerminalSize, kind: string): Promise<TerminalRecorder | undefined> {
  const { facts, sid } = channel;
  const { deps, sessionRecording: mode } = facts;
  const how = recordedAt(mode);
  if (how?.place !== "node") return undefined;
  const failure = Promise.withResolvers<never>();
  failure.promise.catch(() => {});
  const { isSync } = how;
  const isStrict = isSync || facts.grant.rules.strictRecording;
  let isTold = false;
  const onFailed = (why: PlatformError): void => {
    isTold = true;
    if (isStrict) failure.reject(mustBeRecorded(why));
    channel.track(recordFailure(channel, why));
  };
  const { "addr.remote": _address, ...who } = sessionFacts(facts, sid);
  const started = (deps.now ?? (() => new Date()))().toISOString();
  let recording: OpenRecording<TerminalWriter> | undefined;
  try {
    recording = await deps.recordings.begin(terminalRecording({ facts: { ...who, started }, term: kind, size, onFailed }));
    if (isSync) await deps.recordings.sendNow(recording.spooled);
  } catch (thrown) {
    if (!isTold) onFailed(toPlatformError(thrown));
    await recording?.end();
    if (isStrict) throw mustBeRecorded(thrown);
    return undefined;
  }
  const { writer, end: endRecording } = recording;
  const stopWatch = isSync ? watchUpload(recording, onFailed) : () => {};
  const end = async (): Promise<void> => {
    stopWatch();
    await endRecording();
  };
  return { show: (chunk) => writer.show(chunk), resize: ({ columns, rows }) => writer.resize(columns, rows), end, failed: failure.promise };
}

async function recordFailure({ facts, sid }: SessionChannel, why: PlatformError): Promise<void> {
  facts.deps.log.error("a session is not recorded", { sid, error: why });
  await recordOrLog(facts.deps, { event: "session.recording.failed", ...sessionFacts(facts, sid), reason: why.message });
}
