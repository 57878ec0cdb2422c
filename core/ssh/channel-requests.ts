import { Reader } from "../bytes/fields.ts";
import { PlatformError } from "../errors/platform-error.ts";
import { decodeTerminalModes, type TerminalModes } from "./terminal-modes.ts";

/*
 * The requests of a session (RFC 4254 section 6) in which ssh2 loses something: it reads a command and a variable's value as UTF-8,
 * although they may be other bytes, and reads a terminal's modes from the wrong byte. A server's listeners for `exec`, `env` and `pty` get these.
 */

/** Number of the message. */
export const channelRequest = 98;

export interface ExecRequest {
  readonly command: Buffer;
}

export interface EnvRequest {
  readonly key: string;
  readonly val: Buffer;
}

export interface PtyRequest {
  /** TERM, e.g. `xterm`. */
  readonly term: string;
  readonly cols: number;
  readonly rows: number;
  readonly modes: TerminalModes;
}

export interface ChannelRequest {
  /** The receiver's number of the channel. */
  readonly channel: number;
  readonly name: string;
  readonly wantsReply: boolean;
  /** As ssh2 passes it on to emit events. */
  readonly data: unknown;
}

/** Undefined for another request, or a malformed one. Keeps nothing of the payload. */
export function readChannelRequest(payload: Buffer): ChannelRequest | undefined {
  const reader = new Reader(payload);
  try {
    reader.u8();
    const channel = reader.u32();
    const name = reader.string().toString("latin1");
    const wantsReply = reader.u8() !== 0;
    const data = readData(name, reader);
    return data === undefined ? undefined : { channel, name, wantsReply, data };
  } catch (thrown) {
    if (thrown instanceof PlatformError) return undefined;
    throw thrown;
  }
}

function readData(name: string, reader: Reader): unknown {
  switch (name) {
    case "exec":
      return Buffer.from(reader.string());
    case "env":
      return { name: reader.string().toString("utf8"), value: Buffer.from(reader.string()) };
    case "pty-req":
      return readPty(reader);
    default:
      return undefined;
  }
}

function readPty(reader: Reader): PtyRequest {
  const [term, cols, rows] = [reader.string().toString("utf8"), reader.u32(), reader.u32()];
  // Width and height in pixels.
  reader.take(8);
  return { term, cols, rows, modes: decodeTerminalModes(reader.string()) };
}
