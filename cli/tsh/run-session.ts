import { constants } from "node:os";
import { Readable } from "node:stream";
import type { Client, ClientChannel } from "ssh2";
import { PlatformError } from "../../core/errors/platform-error.ts";
import type { CliIo } from "../io.ts";
import { writeNote } from "../output.ts";
import { enterRawMode } from "../terminal.ts";
import { type OpenedSession, openSession, type SessionAsk } from "./open-session.ts";

/** Ctrl-C. */
const interrupt = 0x03;

/** Runs a command or a shell on an open connection, wired to our own streams. Its exit status, 128 + n for signal n. */
export async function runSession(client: Client, ask: SessionAsk, given: CliIo): Promise<number> {
  const io = ask.settings?.isStdinNull === true ? { ...given, stdin: Readable.from([]) } : given;
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
    const stopInput = forwardInput(channel, ask, io, () => {
      left = 255;
      channel.close();
      finish();
    });
    // Like a program that SIGPIPE ended: silently.
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

/** Standard input to the channel with back-pressure; its end is the channel's end of file, not the session's. */
function forwardInput(channel: ClientChannel, ask: SessionAsk, io: CliIo, disconnect: () => void): () => void {
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
    if (typed.disconnect || isLeaving) disconnect();
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

/** A channel's output to ours, with back-pressure; `gone` when our reader is gone; the rest is then dropped. */
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
