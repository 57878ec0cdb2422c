import { readFile } from "node:fs/promises";
import { type Readable, Transform } from "node:stream";
import type { ServerChannel } from "ssh2";
import { shownText } from "../../../core/bytes/shown-text.ts";
import { ipOf } from "../../../core/transport/host-port.ts";
import { type Exit, endLogin, type SystemText } from "../../host/spawn.ts";
import { pump } from "../../service/pump.ts";
import type { SessionChannel } from "../session-channel.ts";
import { fileCopyRefused, isFileCopy, runScp, scpOf } from "./file-copy.ts";
import { pumpPipes } from "./pump-pipes.ts";
import { recordTerminal } from "./record-terminal.ts";
import { runRecorded } from "./run-recorded.ts";
import { sessionEnvironment } from "./session-environment.ts";
import { endShared, shareTerminal } from "./share-terminal.ts";
import { programOf, startProgram } from "./start-program.ts";
import { openTerminal } from "./terminal.ts";

/** Time after the program's end to read output of a terminal that other processes still hold, ms. */
const lingerMs = 500;

/** Runs a shell or a command in an accepted channel, from its audit events to its exit status. Never throws. */
export function runProgram(channel: SessionChannel, stream: ServerChannel, bytes?: Buffer): Promise<void> {
  const command = bytes && shownText(bytes);
  const before = channel.forwardsSettled();
  return runRecorded(channel, stream, {
    ...(command !== undefined && { asked: { event: "exec", command } }),
    run: () => {
      const copy = command === undefined ? undefined : scpOf(command);
      const work = async (): Promise<Exit> => {
        if (command !== undefined && !channel.facts.grant.rules.fileCopy && isFileCopy(command)) throw fileCopyRefused();
        await before;
        return await run(channel, stream, bytes);
      };
      return copy === undefined ? work() : runScp(copy, channel, work);
    },
  });
}

async function run(channel: SessionChannel, stream: ServerChannel, command: Buffer | undefined): Promise<Exit> {
  const { user, grant, request, deps } = channel.facts;
  const { wanted } = channel;
  const terminal = wanted && (await openTerminal(wanted.size));
  if (terminal !== undefined) channel.terminal = terminal;
  try {
    const recorder = wanted && (await recordTerminal(channel, wanted.size, wanted.kind));
    if (recorder !== undefined) channel.recorder = recorder;
    const env = await environmentOf(channel);
    const clientIp = ipOf(request.clientAddress);
    const pam = deps.pam?.order({ identity: grant.identity, shows: terminal !== undefined && command === undefined });
    const at = terminal && wanted && { path: terminal.path, modes: wanted.modes };
    const { starter, groups } = deps;
    const program = startProgram({ user, program: programOf(user, command), env, clientIp, terminal: at, pam, starter, groups });
    channel.program = program;
    if (terminal !== undefined) channel.shared = shareTerminal(channel, terminal);
    const hangUp = (): void => program.signal("SIGHUP");
    channel.gone.addEventListener("abort", hangUp, { once: true });
    const moved = connect(channel, stream);
    try {
      await program.started;
      // A client that disconnected during the start found nothing to hang up.
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
    endShared(channel);
    await channel.recorder?.end();
  }
}

async function environmentOf(channel: SessionChannel): Promise<Record<string, SystemText>> {
  const { facts, terminal, wanted } = channel;
  return sessionEnvironment({
    user: facts.user,
    clientAddress: facts.request.clientAddress,
    accepted: channel.variables,
    loginDefs: await readFile("/etc/login.defs", "utf8").catch(() => ""),
    sessionId: channel.sid,
    agentPath: await channel.agentPath,
    display: await channel.display,
    ...(terminal && wanted && { terminal: { path: terminal.path, kind: wanted.kind } }),
  });
}

/** Connects program and channel; resolves when all of the program's output has been sent. */
function connect({ terminal, recorder, shared, program, gone }: SessionChannel, stream: ServerChannel): Promise<void> {
  if (terminal !== undefined) {
    const show = (chunk: Buffer): Promise<void> | undefined => {
      shared?.show(chunk);
      return recorder?.show(chunk);
    };
    gone.addEventListener("abort", () => terminal.close(), { once: true });
    void pump(stream, terminal.input, gone);
    return pump(tap(terminal.output, show, gone), stream, gone);
  }
  return pumpPipes(stream, program?.pipes, gone);
}

async function settled(work: Promise<unknown>, limitMs: number | undefined): Promise<void> {
  if (limitMs === undefined) return void (await work);
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, limitMs);
  await Promise.race([work, promise]);
  clearTimeout(timer);
}

/** Passes a source on after `show` has seen each chunk; its promise holds the source back. Ends when the source does. */
function tap(source: Readable, show: (chunk: Buffer) => Promise<void> | undefined, gone: AbortSignal): Readable {
  const tapped = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const wait = show(chunk);
      if (wait === undefined) done(null, chunk);
      else void wait.then(() => done(null, chunk));
    },
  });
  void pump(source, tapped, gone).then(() => tapped.end());
  return tapped;
}
