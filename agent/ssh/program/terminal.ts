import { closeSync, writeSync } from "node:fs";
import { type Readable, Writable } from "node:stream";
import { ReadStream } from "node:tty";
import { clampSize, type TerminalSize } from "../../session-join/terminal-size.ts";

/** Our end of a pseudo-terminal. */
export interface Terminal {
  /** Path of the program's end, e.g. /dev/pts/3. */
  readonly path: string;
  /** The program's output. Ends with an error (EIO) when the last program has closed its end: that is its normal end. */
  readonly output: Readable;
  readonly input: Writable;
  resize(size: TerminalSize): void;
  /** The program has ended: closes the copy that kept the terminal alive until then. Its output is still read. */
  releaseProgramEnd(): void;
  /** Hangs up: the programs on it get SIGHUP. */
  close(): void;
}

/** Pause before a full terminal is written to again, ms. */
const retryMs = { first: 4, most: 64 } as const;

/**
 * Opens a pseudo-terminal. node-pty's own stream is not used: it blocks the whole process when the program does not read,
 * and it starts the program itself, with no chance to become another user.
 */
export async function openTerminal(size: TerminalSize): Promise<Terminal> {
  const { requireBinary } = await import("@lydell/node-pty/requireBinary.js");
  const addon = requireBinary("pty.node");
  const { columns, rows } = clampSize(size);
  const { master, slave, pty: path } = addon.open(columns, rows);
  const output = new ReadStream(master);
  let isOpen = true;
  let holdsProgramEnd = true;
  const releaseProgramEnd = (): void => {
    if (holdsProgramEnd) closeSync(slave);
    holdsProgramEnd = false;
  };
  output.once("close", () => {
    isOpen = false;
    releaseProgramEnd();
  });
  output.on("error", () => {
    isOpen = false;
  });
  const close = (): void => {
    isOpen = false;
    releaseProgramEnd();
    output.destroy();
  };
  const resize = (next: TerminalSize): void => {
    const clamped = clampSize(next);
    if (isOpen) addon.resize(master, clamped.columns, clamped.rows);
  };
  const input = terminalInput((chunk) => (isOpen ? writeSync(master, chunk) : chunk.length));
  return { path, output, input, resize, releaseProgramEnd, close };
}

/** The descriptor does not block: a full terminal is tried again until the program reads or is gone. */
function terminalInput(write: (chunk: Buffer) => number): Writable {
  const put = (chunk: Buffer, pause: number, done: () => void): void => {
    const written = tryWrite(write, chunk);
    if (written === chunk.length) {
      done();
      return;
    }
    const nextPause = written > 0 ? retryMs.first : Math.min(pause * 2, retryMs.most);
    setTimeout(() => put(chunk.subarray(written), nextPause, done), pause);
  };
  return new Writable({
    highWaterMark: 65_536,
    write(chunk: Buffer, _encoding, done) {
      put(chunk, retryMs.first, done);
    },
  });
}

function tryWrite(write: (chunk: Buffer) => number, chunk: Buffer): number {
  try {
    return write(chunk);
  } catch (thrown) {
    // Any other error means that the program has ended: further input is discarded.
    return (thrown as NodeJS.ErrnoException).code === "EAGAIN" ? 0 : chunk.length;
  }
}
