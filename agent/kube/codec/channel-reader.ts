import { PlatformError } from "../../../core/errors/platform-error.ts";
import { opcodes, WebSocketReader } from "./web-socket-reader.ts";

/*
 * Channels in a WebSocket, by its sub-protocol (k8s.io/apimachinery, wsstream):
 *
 *   v5.channel.k8s.io, v4.…, channel.k8s.io      a message is  channel u8 | bytes;  255 | channel  closes one (v5)
 *   base64.channel.k8s.io, v4.base64.…           a message is  a digit | bytes in base64
 *
 * Servers look at the sub-protocol and never at the opcode, so this reader does the same.
 */

export interface ChannelPiece {
  readonly channel: number;
  readonly bytes: Buffer;
}

/** Reads the channels of one direction of a WebSocket, however the bytes are split; holds only what base64 decoding needs. */
export class ChannelReader {
  readonly #socket: WebSocketReader;
  #isClosed = false;
  readonly #isBase64: boolean;
  #channel: number | undefined;
  /** Characters of a group of four that is not complete. */
  #group = "";

  constructor(side: "client" | "server", isBase64: boolean) {
    this.#socket = new WebSocketReader(side);
    this.#isBase64 = isBase64;
  }

  get isBetween(): boolean {
    return this.#socket.isBetween;
  }

  /** Whether this side has announced that it sends nothing more. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Reports what the bytes hold. Throws `invalid`. */
  take(chunk: Buffer, on: (piece: ChannelPiece) => void): void {
    this.#socket.take(chunk, ({ bytes, isFirst, isLast, opcode }) => {
      if (opcode === opcodes.close) this.#isClosed = true;
      if (opcode !== opcodes.text && opcode !== opcodes.binary) return;
      if (isFirst) this.#channel = undefined;
      const rest = this.#channel === undefined ? this.#open(bytes) : bytes;
      if (this.#channel !== undefined) this.#report(this.#channel, rest, isLast, on);
    });
  }

  #open(bytes: Buffer): Buffer {
    const [first] = bytes;
    if (first === undefined) return bytes;
    this.#group = "";
    this.#channel = this.#isBase64 ? first - 0x30 : first;
    if (this.#isBase64 && (first < 0x30 || first > 0x39)) throw new PlatformError("invalid", "a message of the stream does not name a channel");
    return bytes.subarray(1);
  }

  #report(channel: number, bytes: Buffer, isLast: boolean, on: (piece: ChannelPiece) => void): void {
    if (!this.#isBase64) return void (bytes.length > 0 && on({ channel, bytes }));
    const text = this.#group + bytes.toString("latin1");
    const whole = isLast ? text.length : text.length - (text.length % 4);
    this.#group = text.slice(whole);
    if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text)) throw new PlatformError("invalid", "a message of the stream is not in base64");
    const decoded = Buffer.from(text.slice(0, whole), "base64");
    if (decoded.length > 0) on({ channel, bytes: decoded });
  }
}
