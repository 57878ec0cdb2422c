import { readFile } from "node:fs/promises";
import { type Readable, Transform } from "node:stream";
import type { ServerChannel } from "ssh2";
import { shownText } from "../../../core/bytes/shown-text.ts";
import { errorText } from "../../../core/errors/platform-error.ts";
import { ipOf } from "../../../core/transport/ip-of.ts";
import { endLogin } from "../../host/end-login.ts";
import type { Exit, SystemText } from "../../host/spawn.ts";
import { pump } from "../../service/pump.ts";
import { recordOrLog } from "../../service/record-or-log.ts";
import { shareTerminal } from "../join/share-terminal.ts";
import type { SessionChannel } from "../session-channel.ts";
import { sessionFacts } from "../session-facts.ts";
import { fileCopyRefused } from "./file-copy-refused.ts";
import { programOf } from "./program.ts";
import { recordTerminal } from "./record-terminal.ts";
import { runRecorded } from "./run-recorded.ts";
import { sessionEnvironment } from "./session-environment.ts";
import { startProgram } from "./start-program.ts";
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

/** Ends sharing: nobody can join any more, and participants are notified. */
function endShared({ shared, facts }: SessionChannel): void {
  if (shared === undefined) return;
  facts.deps.live.remove(shared);
  shared.end();
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
function connect({ terminal, recorder, shared, program, gone }: SessionChannel, stream: ServerChannel): Promise<unknown> {
  if (terminal !== undefined) {
    const show = (chunk: Buffer): Promise<void> | undefined => {
      shared?.show(chunk);
      return recorder?.show(chunk);
    };
    gone.addEventListener("abort", () => terminal.close(), { once: true });
    void pump(stream, terminal.input, gone);
    return pump(tap(terminal.output, show, gone), stream, gone);
  }
  const pipes = program?.pipes;
  if (pipes === undefined) return Promise.resolve();
  // A program that closes its standard input early is not an error.
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

/**
 * Whether a command is the far side of scp, sftp or rsync, by its name. A user with a shell can always move bytes through it,
 * which `ssh_file_copy: false` does not promise to prevent.
 */
export function isFileCopy(command: string): boolean {
  const words = command.trim().split(/\s+/);
  const program = (words[0] ?? "").replace(/^.*\//, "");
  if (program === "scp") return words.slice(1).some((word) => /^-[a-zA-Z]*[tf]/.test(word));
  if (program === "rsync") return words.includes("--server");
  return program === "sftp-server" || program === "internal-sftp";
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

/** A request to the far side of scp. */
export interface ScpCopy {
  /** As seen from the host. */
  readonly action: "upload" | "download";
  /** As the client wrote it for the host's shell. */
  readonly path: string;
}

/** Undefined: the command is not the far side of scp (`scp -t PATH`, `scp -f PATH`). */
export function scpOf(command: string): ScpCopy | undefined {
  const [program = "", ...words] = command.trim().split(/\s+/);
  if (program.replace(/^.*\//, "") !== "scp") return undefined;
  const first = words.findIndex((word) => !/^-[a-zA-Z]/.test(word));
  const options = first === -1 ? words : words.slice(0, first);
  const side = options.map((word) => /[tf]/.exec(word)?.[0]).find((letter) => letter !== undefined);
  if (side === undefined || first === -1) return undefined;
  const rest = words.slice(words[first] === "--" ? first + 1 : first);
  return { action: side === "t" ? "upload" : "download", path: rest.join(" ") };
}

/** Runs the far side of scp and records how the copy ended; the files' bytes are in the session's counts. */
async function runScp(copy: ScpCopy, channel: SessionChannel, run: () => Promise<Exit>): Promise<Exit> {
  const facts = { event: "scp", ...sessionFacts(channel.facts, channel.sid), ...copy } as const;
  let exit: Exit;
  try {
    exit = await run();
  } catch (thrown) {
    await recordOrLog(channel.facts.deps, { ...facts, error: errorText(thrown) });
    throw thrown;
  }
  const error = exit.signal === null ? exit.code !== 0 && `exit status ${exit.code}` : `ended by ${exit.signal}`;
  await recordOrLog(channel.facts.deps, { ...facts, ...(exit.code !== null && { exit_code: exit.code }), ...(error !== false && { error }) });
  return exit;
}
