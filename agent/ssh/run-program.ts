import { readFile } from "node:fs/promises";
import { constants } from "node:os";
import type { ServerChannel } from "ssh2";
import { errorText, PlatformError, toPlatformError } from "../../core/errors/platform-error.ts";
import { clipCommand } from "../../core/resources/audit-event.ts";
import { isFileCopy } from "./is-file-copy.ts";
import { programOf } from "./program.ts";
import { pump } from "./pump.ts";
import type { SessionChannel } from "./session-channel.ts";
import { sessionEnvironment } from "./session-environment.ts";
import { sessionFacts } from "./session-facts.ts";
import { type ProgramExit, startProgram } from "./start-program.ts";
import { openTerminal } from "./terminal.ts";

/** Once the program has ended, how long what it wrote to a terminal that others still hold is read on, ms. */
const lingerMs = 500;
/** What ssh(1) and sshd(8) use for a fault of their own. */
const faultStatus = 255;

/** Runs a shell or a command in an accepted channel, from its audit events to its exit status. Never throws. */
export async function runProgram(channel: SessionChannel, stream: ServerChannel, command?: string): Promise<void> {
  const { deps } = channel.facts;
  // Writing to a channel that the client has closed fails: `gone` says the same, and is what counts.
  stream.on("error", () => {});
  stream.stderr.on("error", () => {});
  channel.stream = stream;
  const started = (deps.now ?? (() => new Date()))();
  let isRecorded = false;
  let end: { exit_code?: number; reason?: string } = {};
  try {
    await recordStart(channel, command);
    isRecorded = true;
    if (channel.gone.aborted) throw new PlatformError("unavailable", "the client left before the program started");
    if (command !== undefined && !channel.facts.grant.rules.fileCopy && isFileCopy(command)) throw fileCopyRefused();
    const exit = await run(channel, stream, command);
    end = exit.signal === null ? { exit_code: exit.code ?? faultStatus } : { reason: `ended by ${exit.signal}` };
    if (channel.gone.reason instanceof PlatformError) end = { reason: channel.gone.reason.message.slice(0, 2000) };
    tellExit(stream, exit);
  } catch (thrown) {
    const error = toPlatformError(thrown);
    if (error.code === "internal") deps.log.error("a session failed", { sid: channel.sid, error: error.cause ?? error });
    end = { exit_code: faultStatus, reason: error.message.slice(0, 2000) };
    stream.stderr.write(`platform: ${error.message}\r\n`);
    tellExit(stream, { code: faultStatus, signal: null });
  }
  stream.resume();
  stream.end();
  if (isRecorded) await recordEnd(channel, started, end);
}

function fileCopyRefused(): PlatformError {
  return new PlatformError("denied", "access denied: a role forbids copying files (ssh_file_copy: false)");
}

async function run(channel: SessionChannel, stream: ServerChannel, command: string | undefined): Promise<ProgramExit> {
  const { user, request, deps } = channel.facts;
  const { wanted } = channel;
  const terminal = wanted && (await openTerminal(wanted.size));
  if (terminal !== undefined) channel.terminal = terminal;
  try {
    const env = sessionEnvironment({
      user,
      clientAddress: request.clientAddress,
      accepted: channel.variables,
      loginDefs: await readFile("/etc/login.defs", "utf8").catch(() => ""),
      sessionId: channel.sid,
      ...(terminal && wanted && { terminal: { path: terminal.path, kind: wanted.kind } }),
    });
    const program = startProgram({ user, program: programOf(user, command), env, terminal: terminal?.path, launch: deps.launch });
    channel.program = program;
    const hangUp = (): void => program.signal("SIGHUP");
    channel.gone.addEventListener("abort", hangUp, { once: true });
    const moved = connect(channel, stream);
    try {
      await program.started;
      // A client that left during the start found nothing to hang up.
      if (channel.gone.aborted) hangUp();
      terminal?.releaseProgramEnd();
      const exit = await program.exited;
      await settled(moved, terminal === undefined ? undefined : lingerMs);
      return exit;
    } finally {
      channel.gone.removeEventListener("abort", hangUp);
    }
  } finally {
    terminal?.close();
  }
}

/** Connects program and channel; resolves when all that the program wrote is on its way. */
function connect({ terminal, program, gone }: SessionChannel, stream: ServerChannel): Promise<unknown> {
  if (terminal !== undefined) {
    gone.addEventListener("abort", () => terminal.close(), { once: true });
    void pump(stream, terminal.input, gone);
    return pump(terminal.output, stream, gone);
  }
  const pipes = program?.pipes;
  if (pipes === undefined) return Promise.resolve();
  // A program that closes its standard input early is no fault.
  pipes.stdin.on("error", () => stream.resume());
  void pump(stream, pipes.stdin, gone).then(() => pipes.stdin.end());
  return Promise.all([pump(pipes.stdout, stream, gone), pump(pipes.stderr, stream.stderr, gone)]);
}

async function settled(work: Promise<unknown>, limitMs: number | undefined): Promise<void> {
  if (limitMs === undefined) return void (await work);
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, limitMs);
  await Promise.race([work, promise]);
  clearTimeout(timer);
}

/** Signals that ssh2 can name; any other one is told as a shell would, as 128 and its number. */
const namedSignals = /^SIG(ABRT|ALRM|FPE|HUP|ILL|INT|KILL|PIPE|QUIT|SEGV|TERM|USR1|USR2)$/;

function tellExit(stream: ServerChannel, { code, signal }: ProgramExit): void {
  if (signal === null) stream.exit(code ?? faultStatus);
  else if (namedSignals.test(signal)) stream.exit(signal.slice(3), false, "");
  else stream.exit(128 + constants.signals[signal]);
}

/** Before anything runs: what cannot be recorded does not happen. */
async function recordStart(channel: SessionChannel, command: string | undefined): Promise<void> {
  const { audit } = channel.facts.deps;
  const facts = sessionFacts(channel.facts, channel.sid);
  await audit.record({ event: "session.start", ...facts, interactive: channel.wanted !== undefined });
  if (command !== undefined) await audit.record({ event: "exec", ...facts, command: clipCommand(command) });
}

async function recordEnd(channel: SessionChannel, started: Date, end: { exit_code?: number; reason?: string }): Promise<void> {
  const { audit, log } = channel.facts.deps;
  try {
    await audit.record({ event: "session.end", ...sessionFacts(channel.facts, channel.sid), session_start: started.toISOString(), ...end });
  } catch (thrown) {
    log.error("the end of a session could not be recorded", { sid: channel.sid, error: errorText(thrown) });
  }
}
