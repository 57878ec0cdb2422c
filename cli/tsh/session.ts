import { constants } from "node:os";
import type { Client, ClientChannel, PseudoTtyOptions } from "ssh2";
import { PlatformError } from "../../core/errors/platform-error.ts";
import type { CliIo } from "../io.ts";
import { writeNote } from "../output.ts";
import { enterRawMode } from "../terminal.ts";
import { createEscape, escapeHelp } from "./escape.ts";

export interface SessionAsk {
  /** Undefined: the login shell. */
  readonly command: string | undefined;
  readonly pty: boolean;
  /** For messages. */
  readonly host: string;
}

/** Runs a command or a shell on an open connection, wired to our own streams. Its exit status, 128 + n for signal n. */
export async function runSession(client: Client, ask: SessionAsk, io: CliIo): Promise<number> {
  const opened = await openChannel(client, ask, io);
  const { channel } = opened;
  const leave = ask.pty ? enterRawMode(io.stdin) : () => {};
  const onResize = (): void => void channel.setWindow(io.stdout.rows ?? 24, io.stdout.columns ?? 80, 0, 0);
  if (ask.pty) io.stdout.on("resize", onResize);
  try {
    return await copyUntilExit(opened, ask, io);
  } finally {
    io.stdout.off("resize", onResize);
    leave();
    io.stdin.pause();
  }
}

/** Variables that ssh sends too (SendEnv of Debian): language; TERM goes with the terminal. */
export function sentEnv(env: CliIo["env"]): Record<string, string> {
  const wanted = Object.entries(env).filter(([name, value]) => (name === "LANG" || name.startsWith("LC_")) && value !== undefined);
  return Object.fromEntries(wanted) as Record<string, string>;
}

/** Exit status as a shell tells it: 128 + number for a signal, 255 for one that this system does not know. */
export function exitStatus(code: number | null | undefined, signal: string | undefined): number | undefined {
  if (typeof code === "number") return code & 0xff;
  if (signal === undefined) return undefined;
  const number = (constants.signals as Readonly<Record<string, number>>)[signal.startsWith("SIG") ? signal : `SIG${signal}`];
  return number === undefined ? 255 : 128 + number;
}

interface Opened {
  readonly channel: ClientChannel;
  /** Status of the remote command, once it was told. */
  readonly ended: () => number | undefined;
  /** All output has been read. */
  readonly closed: Promise<unknown>;
}

function openChannel(client: Client, { command, pty, host }: SessionAsk, io: CliIo): Promise<Opened> {
  const terminal: PseudoTtyOptions = { term: io.env.TERM ?? "xterm", rows: io.stdout.rows ?? 24, cols: io.stdout.columns ?? 80, width: 0, height: 0 };
  const env = sentEnv(io.env);
  return new Promise((resolve, reject) => {
    const lost = (): void => reject(new PlatformError("unavailable", `the connection to ${host} was lost`));
    client.once("close", lost);
    const opened = (cause: Error | undefined, channel: ClientChannel): void => {
      client.off("close", lost);
      if (cause === undefined) resolve(watched(channel));
      else reject(new PlatformError("denied", `${host} refused the session: ${cause.message}`, { cause }));
    };
    if (command === undefined) client.shell(pty ? terminal : false, { env }, opened);
    else client.exec(command, { env, ...(pty && { pty: terminal }) }, opened);
  });
}

/** Listens in the same turn in which the channel opened: the status of a quick command follows in the same packet. */
function watched(channel: ClientChannel): Opened {
  let status: number | undefined;
  channel.on("exit", (code: number | null, signal?: string) => {
    status = exitStatus(code, signal);
  });
  channel.on("error", ignored);
  // Each closes when all of it has been read: standard error may be behind.
  const closed = [channel, channel.stderr].map((stream) => new Promise((resolve) => stream.once("close", resolve)));
  return { channel, ended: () => status, closed: Promise.all(closed) };
}

function copyUntilExit({ channel, ended, closed }: Opened, ask: SessionAsk, io: CliIo): Promise<number> {
  return new Promise((resolve, reject) => {
    let left: number | undefined;
    const stopInput = forwardInput(channel, ask, io, () => {
      left = 255;
      channel.close();
      finish();
    });
    // As a program that SIGPIPE ended: without a word.
    const readerGone = (): void => {
      left ??= 128 + constants.signals.SIGPIPE;
      channel.close();
    };
    const stopOutputs = [forwardOutput(channel, io.stdout, readerGone), forwardOutput(channel.stderr, io.stderr, () => {})];
    const finish = (): void => {
      stopInput();
      for (const stop of stopOutputs) stop();
      const status = ended() ?? left;
      if (status !== undefined) resolve(status);
      else reject(new PlatformError("unavailable", `the connection to ${ask.host} was lost`));
    };
    void closed.then(finish);
  });
}

function ignored(): void {}

/** Standard input to the channel with back-pressure; its end is the channel's end of file, not the session's. */
function forwardInput(channel: ClientChannel, ask: SessionAsk, io: CliIo, disconnect: () => void): () => void {
  const typing = ask.pty && io.stdin.isTTY === true ? createEscape() : undefined;
  const send = (bytes: Buffer): void => {
    if (bytes.length > 0 && !channel.write(bytes)) io.stdin.pause();
  };
  const onData = (chunk: Buffer | string): void => {
    const bytes = Buffer.from(chunk as Buffer);
    const typed = typing?.(bytes) ?? { send: bytes, help: false, disconnect: false };
    send(typed.send);
    if (typed.help) writeNote(io, `\r\n${escapeHelp}\r`);
    if (typed.disconnect) disconnect();
  };
  const onEnd = (): void => void channel.end();
  const onDrain = (): void => void io.stdin.resume();
  io.stdin.on("data", onData).on("end", onEnd).on("error", onEnd);
  channel.on("drain", onDrain);
  if (io.stdin.readableEnded) onEnd();
  return () => {
    io.stdin.off("data", onData).off("end", onEnd).off("error", onEnd);
    channel.off("drain", onDrain);
  };
}

/** A channel's output to ours, with back-pressure; `gone` when nobody reads it any more, and the rest is dropped then. */
function forwardOutput(from: NodeJS.ReadableStream, to: CliIo["stdout"], gone: () => void): () => void {
  let open = true;
  const onData = (chunk: Buffer): void => {
    if (open && !to.write(chunk)) from.pause();
  };
  const onDrain = (): void => void from.resume();
  const onError = (): void => {
    open = false;
    from.resume();
    gone();
  };
  from.on("data", onData);
  to.on("drain", onDrain).on("error", onError);
  return () => {
    to.off("drain", onDrain).off("error", onError);
  };
}
