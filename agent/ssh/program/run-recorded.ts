import { constants } from "node:os";
import type { ServerChannel } from "ssh2";
import { clipCommand } from "../../../core/audit/audit-event.ts";
import { confirmedBy } from "../../../core/audit/recorded-user.ts";
import { PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";
import { limitChannelBuffers } from "../../../core/ssh/couple.ts";
import type { Exit } from "../../host/spawn.ts";
import { recordOrLog } from "../../service/record-or-log.ts";
import type { SessionChannel } from "../session-channel.ts";
import { sessionFacts } from "../user-connection.ts";

/** Exit status of ssh(1) and sshd(8) for their own errors. */
const faultStatus = 255;

export interface RecordedWork {
  /** The request besides a session; omitted for a shell. */
  readonly asked?:
    | { readonly event: "exec"; readonly command: string }
    | { readonly event: "subsystem"; readonly name: string; readonly error?: string };
  readonly run: () => Promise<Exit>;
}

/** The life of an accepted channel, from its audit events to its exit status. Never throws. */
export async function runRecorded(channel: SessionChannel, stream: ServerChannel, { asked, run }: RecordedWork): Promise<void> {
  const { deps } = channel.facts;
  limitChannelBuffers(stream);
  // Writing to a channel that the client has closed fails: `gone` reports the same, and is what counts.
  stream.on("error", () => {});
  stream.stderr.on("error", () => {});
  channel.stream = stream;
  const started = (deps.now ?? (() => new Date()))();
  let isRecorded = false;
  let end: { exit_code?: number; reason?: string } = {};
  try {
    await recordStart(channel, asked);
    isRecorded = true;
    if (channel.gone.aborted) throw new PlatformError("unavailable", "the client disconnected before the program started");
    const exit = await run();
    end = exit.signal === null ? { exit_code: exit.code ?? faultStatus } : { reason: `ended by ${exit.signal}` };
    if (channel.gone.reason instanceof PlatformError) end = { reason: channel.gone.reason.message.slice(0, 2000) };
    tellExit(stream, exit);
  } catch (thrown) {
    const error = toPlatformError(thrown);
    if (error.code === "internal") deps.log.error("a session failed", { sid: channel.sid, error: error.cause ?? error });
    end = { exit_code: faultStatus, reason: error.message.slice(0, 2000) };
    if (isRecorded && asked?.event === "exec") await recordFault(channel, asked.command, error);
    stream.stderr.write(`platform: ${error.message}\r\n`);
    tellExit(stream, { code: faultStatus, signal: null });
  }
  stream.resume();
  stream.end();
  if (isRecorded) await recordEnd(channel, started, end);
}

/** Signals that ssh2 can name; any other one is reported as in a shell, as 128 plus its number. */
const namedSignals = /^SIG(ABRT|ALRM|FPE|HUP|ILL|INT|KILL|PIPE|QUIT|SEGV|TERM|USR1|USR2)$/;

function tellExit(stream: ServerChannel, { code, signal }: Exit): void {
  if (signal === null) stream.exit(code ?? faultStatus);
  else if (namedSignals.test(signal)) stream.exit(signal.slice(3), false, "");
  else stream.exit(128 + constants.signals[signal]);
}

/** Recorded before anything runs: a session that cannot be recorded does not start. */
async function recordStart(channel: SessionChannel, asked: RecordedWork["asked"]): Promise<void> {
  const { audit } = channel.facts.deps;
  const facts = sessionFacts(channel.facts, channel.sid);
  // At once: one write to the disk serves both.
  const start = audit.record({
    event: "session.start",
    ...facts,
    ...confirmedBy(channel.facts.grant.identity),
    interactive: channel.wanted !== undefined,
  });
  if (asked === undefined) return await start;
  const what = asked.event === "exec" ? { ...asked, command: clipCommand(asked.command) } : asked;
  await Promise.all([start, audit.record({ ...facts, ...what })]);
}

/** Records a command that did not run, or that failed because of an error of ours. */
async function recordFault(channel: SessionChannel, command: string, { message }: PlatformError): Promise<void> {
  await recordOrLog(channel.facts.deps, {
    event: "exec",
    ...sessionFacts(channel.facts, channel.sid),
    command: clipCommand(command),
    error: message.slice(0, 2000),
  });
}

async function recordEnd(channel: SessionChannel, started: Date, end: { exit_code?: number; reason?: string }): Promise<void> {
  const everyone = channel.shared?.everyone;
  const facts = sessionFacts(channel.facts, channel.sid);
  const { received, sent } = channel.bytes;
  // At once: one write to the disk serves both.
  await Promise.all([
    recordOrLog(channel.facts.deps, { event: "session.data", ...facts, bytes_transmitted: sent, bytes_received: received }),
    recordOrLog(channel.facts.deps, {
      event: "session.end",
      ...facts,
      ...(everyone && { participants: [...everyone] }),
      session_start: started.toISOString(),
      ...end,
    }),
  ]);
}
