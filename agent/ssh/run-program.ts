import { readFile } from "node:fs/promises";
import type { ServerChannel } from "ssh2";
import { ipOf } from "../../core/transport/ip-of.ts";
import { endLogin } from "../host/end-login.ts";
import { fileCopyRefused } from "./file-copy-refused.ts";
import { isFileCopy } from "./is-file-copy.ts";
import { programOf } from "./program.ts";
import { pump } from "./pump.ts";
import { recordTerminal } from "./record-terminal.ts";
import { runRecorded } from "./run-recorded.ts";
import type { SessionChannel } from "./session-channel.ts";
import { sessionEnvironment } from "./session-environment.ts";
import type { ProgramExit } from "./start-entry.ts";
import { startProgram } from "./start-program.ts";
import { tap } from "./tap.ts";
import { openTerminal } from "./terminal.ts";

/** Once the program has ended, how long what it wrote to a terminal that others still hold is read on, ms. */
const lingerMs = 500;

/** Runs a shell or a command in an accepted channel, from its audit events to its exit status. Never throws. */
export function runProgram(channel: SessionChannel, stream: ServerChannel, command?: string): Promise<void> {
  return runRecorded(channel, stream, {
    ...(command !== undefined && { asked: { event: "exec", command } }),
    run: () => {
      if (command !== undefined && !channel.facts.grant.rules.fileCopy && isFileCopy(command)) throw fileCopyRefused();
      return run(channel, stream, command);
    },
  });
}

async function run(channel: SessionChannel, stream: ServerChannel, command: string | undefined): Promise<ProgramExit> {
  const { user, request, deps } = channel.facts;
  const { wanted } = channel;
  const terminal = wanted && (await openTerminal(wanted.size));
  if (terminal !== undefined) channel.terminal = terminal;
  try {
    const recorder = wanted && (await recordTerminal(channel, wanted.size, wanted.kind));
    if (recorder !== undefined) channel.recorder = recorder;
    const env = sessionEnvironment({
      user,
      clientAddress: request.clientAddress,
      accepted: channel.variables,
      loginDefs: await readFile("/etc/login.defs", "utf8").catch(() => ""),
      sessionId: channel.sid,
      agentPath: await channel.agentPath,
      display: await channel.display,
      ...(terminal && wanted && { terminal: { path: terminal.path, kind: wanted.kind } }),
    });
    const clientIp = ipOf(request.clientAddress);
    const program = startProgram({ user, program: programOf(user, command), env, clientIp, terminal: terminal?.path, launch: deps.launch });
    channel.program = program;
    const hangUp = (): void => program.signal("SIGHUP");
    channel.gone.addEventListener("abort", hangUp, { once: true });
    const moved = connect(channel, stream);
    try {
      await program.started;
      // A client that left during the start found nothing to hang up.
      if (channel.gone.aborted) hangUp();
      const exit = await Promise.race([program.exited, recorder?.failed ?? program.exited]);
      // Not before: a program that closes its own ends (cat does) just before it exits would be hung up.
      terminal?.releaseProgramEnd();
      await settled(moved, terminal === undefined ? undefined : lingerMs);
      return exit;
    } finally {
      if (terminal !== undefined && program.pid !== undefined) endLogin(program.pid, deps.log);
      channel.gone.removeEventListener("abort", hangUp);
    }
  } finally {
    terminal?.close();
    await channel.recorder?.end();
  }
}

/** Connects program and channel; resolves when all that the program wrote is on its way. */
function connect({ terminal, recorder, program, gone }: SessionChannel, stream: ServerChannel): Promise<unknown> {
  if (terminal !== undefined) {
    gone.addEventListener("abort", () => terminal.close(), { once: true });
    void pump(stream, terminal.input, gone);
    return pump(recorder === undefined ? terminal.output : tap(terminal.output, recorder.show, gone), stream, gone);
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
