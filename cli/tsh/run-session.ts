import { fstatSync } from "node:fs";
import { constants } from "node:os";
import { Readable } from "node:stream";
import type { Client, ClientChannel } from "ssh2";
import { errorText, PlatformError } from "../../core/errors/platform-error.ts";
import type { CliIo } from "../io.ts";
import { isReaderGone, lostOutput, writeNote } from "../output.ts";
import { enterRawMode } from "../terminal.ts";
import { type OpenedSession, openSession, type SessionAsk } from "./open-session.ts";

/** Ctrl-C. */
const interrupt = 0x03;

/**
 * Runs a command or a shell on an open connection, wired to our own streams. Its exit status, 128 + n for signal n; 141 instead of 0 where the reader of
 * our output left. Throws `unavailable` when output was lost, input could not be read, or the connection broke.
 */
export async function runSession(client: Client, ask: SessionAsk, given: CliIo): Promise<number> {
  const io = ask.settings?.isStdinNull === true ? { ...given, stdin: Readable.from([]) } : given;
  requireInput(io.stdin);
  const opened = await openSession(client, ask, io);
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

function copyUntilExit({ channel, ended, closed }: OpenedSession, ask: SessionAsk, io: CliIo): Promise<number> {
  return new Promise((resolve, reject) => {
    let left: number | undefined;
    let isUnread = false;
    let failure: PlatformError | undefined;
    const fail = (why: PlatformError): void => {
      failure ??= why;
      channel.close();
    };
    const onLeave = (): void => {
      left = 255;
      channel.close();
      finish();
    };
    const outputFailed = (cause: Error): void => {
      isUnread ||= isReaderGone(cause);
      if (isReaderGone(cause)) channel.close();
      else fail(lostOutput(cause));
    };
    // The command continues without a reader of its errors.
    const errorsFailed = (cause: Error): void => {
      if (!isReaderGone(cause)) failure ??= lostOutput(cause, "error");
    };
    const stopInput = forwardInput(channel, ask, io, { onLeave, onFailure: fail });
    const stopOutputs = [forwardOutput(channel, io.stdout, outputFailed), forwardOutput(channel.stderr, io.stderr, errorsFailed)];
    const finish = (): void => {
      stopInput();
      for (const stop of stopOutputs) stop();
      // Without a reader, like a program that SIGPIPE ended: silently.
      const status = isUnread ? ended() || 128 + constants.signals.SIGPIPE : (ended() ?? left);
      if (failure !== undefined) reject(failure);
      else if (status !== undefined) resolve(status);
      else reject(new PlatformError("unavailable", `the connection to ${ask.host} was lost`));
    };
    void closed.then(() => Promise.all([flushed(io.stdout), flushed(io.stderr)])).then(finish);
  });
}

interface InputEnds {
  /** The user typed the escape that ends the connection. */
  readonly onLeave: () => void;
  readonly onFailure: (why: PlatformError) => void;
}

/** Standard input to the channel with back-pressure; its end is the channel's end of file, not the session's. */
function forwardInput(channel: ClientChannel, ask: SessionAsk, io: CliIo, { onLeave, onFailure }: InputEnds): () => void {
  const mark = ask.settings === undefined ? "~" : ask.settings.escape;
  const typing = ask.pty && io.stdin.isTTY === true && mark !== undefined ? createEscape(mark) : undefined;
  const send = (bytes: Buffer): void => {
    if (bytes.length > 0 && !channel.write(bytes)) io.stdin.pause();
  };
  const onData = (chunk: Buffer | string): void => {
    const bytes = Buffer.from(chunk as Buffer);
    const typed = typing?.(bytes) ?? { send: bytes, help: false, disconnect: false };
    // An observer's input is ignored: Ctrl-C is for the observer alone.
    const isLeaving = ask.join === "observer" && ask.pty && bytes.includes(interrupt);
    send(typed.send);
    if (typed.help) writeNote(io, `\n${escapeHelp(mark ?? "")}`);
    if (typed.disconnect || isLeaving) onLeave();
  };
  const onEnd = (): void => void channel.end();
  // Not an end of file: the program would take the part before for all of it.
  const onError = (cause: Error): void => (hasNoInput(cause, io) ? onEnd() : onFailure(unreadInput(errorText(cause), cause)));
  const onDrain = (): void => void io.stdin.resume();
  io.stdin.on("data", onData).on("end", onEnd).on("error", onError);
  channel.on("drain", onDrain);
  if (io.stdin.readableEnded) onEnd();
  return () => {
    io.stdin.off("data", onData).off("end", onEnd).off("error", onError);
    channel.off("drain", onDrain);
  };
}

/** nohup opens standard input for writing alone, and a terminal that is gone gives EIO: nothing is lost with either. */
function hasNoInput({ code }: NodeJS.ErrnoException, { stdin }: CliIo): boolean {
  return code === "EBADF" || (code === "EIO" && stdin.isTTY === true);
}

/** Throws `unavailable` for a folder as standard input, which Node.js presents as an empty stream. */
function requireInput({ fd }: CliIo["stdin"]): void {
  if (fd !== undefined && fstatSync(fd).isDirectory()) throw unreadInput("it is a folder");
}

function unreadInput(why: string, cause?: Error): PlatformError {
  return new PlatformError("unavailable", `could not read standard input: ${why}`, { cause });
}

/** A channel's output to ours, with back-pressure; after a failed write the rest is dropped. */
function forwardOutput(from: NodeJS.ReadableStream, to: CliIo["stdout"], failed: (cause: Error) => void): () => void {
  let open = true;
  const onData = (chunk: Buffer): void => {
    if (open && !to.write(chunk)) from.pause();
  };
  const onDrain = (): void => void from.resume();
  const onError = (cause: Error): void => {
    open = false;
    from.resume();
    failed(cause);
  };
  from.on("data", onData);
  to.on("drain", onDrain).on("error", onError);
  return () => {
    to.off("drain", onDrain).off("error", onError);
  };
}

/** Resolves once all bytes so far are written, or their failure was reported. */
function flushed(to: CliIo["stdout"]): Promise<void> {
  return new Promise((resolve) => {
    if (to.writableLength === 0 || to.destroyed) resolve();
    else to.write("", () => resolve());
  });
}

/** The action for typed bytes on a terminal: send them, show the help, or leave. */
interface Typed {
  readonly send: Buffer;
  readonly help: boolean;
  readonly disconnect: boolean;
}

/** The escapes of ssh(1) that make sense here, at the start of a line: `~.` leaves, `~?` helps, `~~` is one tilde; the character can be changed. */
export function createEscape(character = "~"): (chunk: Buffer) => Typed {
  const mark = character.charCodeAt(0);
  let lineStart = true;
  let tilde = false;
  return (chunk) => {
    const send: number[] = [];
    let help = false;
    for (const byte of chunk) {
      if (tilde) {
        tilde = false;
        if (byte === 0x2e) return { send: Buffer.from(send), help, disconnect: true };
        if (byte === 0x3f) {
          help = true;
          lineStart = true;
          continue;
        }
        send.push(mark);
        if (byte === mark) {
          lineStart = false;
          continue;
        }
      } else if (lineStart && byte === mark) {
        tilde = true;
        continue;
      }
      send.push(byte);
      lineStart = byte === 0x0d || byte === 0x0a;
    }
    return { send: Buffer.from(send), help, disconnect: false };
  };
}

function escapeHelp(character: string): string {
  return `Escapes at the start of a line: ${character}. ends the connection, ${character}${character} sends one ${character}, ${character}? shows this.`;
}
