import { PlatformError } from "../../../core/errors/platform-error.ts";

/*
 * WebSocket (RFC 6455) without extensions:
 *
 *   FIN 1 | RSV 3 (0) | opcode 4      u8
 *   MASK 1 | length 7                 u8, then u16 for 126 or u64 for 127
 *   mask                              4 bytes, of a client
 *   payload
 */

export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

export interface WebSocketPiece {
  /** A piece of a message's payload, or a whole control frame's; it is not kept. */
  readonly bytes: Buffer;
  /** Whether a message begins with it, and ends after it. */
  readonly isFirst: boolean;
  readonly isLast: boolean;
  /** `text` or `binary` in every frame of a message, or that of a control frame. */
  readonly opcode: number;
}

interface OpenFrame {
  readonly opcode: number;
  readonly isFinal: boolean;
  readonly mask: Buffer | undefined;
  /** Bytes of the payload that have been read. */
  done: number;
  left: number;
  isFirst: boolean;
}

/** Longest head of a frame, bytes. */
const maxHeadLength = 14;
const maxControl = 125;

/** Reads one direction of a connection, however the bytes are split; holds the payload of control frames only. */
export class WebSocketReader {
  readonly #fromClient: boolean;
  #held: Buffer = Buffer.alloc(0);
  #frame: OpenFrame | undefined;
  #control: Buffer[] = [];
  /** Opcode of the message whose next frames follow. */
  #message: number | undefined;

  constructor(side: "client" | "server") {
    this.#fromClient = side === "client";
  }

  /** Whether what has been read ends between two messages. */
  get isBetween(): boolean {
    return this.#held.length === 0 && this.#frame === undefined && this.#message === undefined;
  }

  /** Reports what the bytes hold. Throws `invalid`. */
  take(chunk: Buffer, on: (piece: WebSocketPiece) => void): void {
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#frame === undefined) {
        const all = this.#held.length === 0 ? rest : Buffer.concat([this.#held, rest]);
        const length = headLengthOf(all);
        if (length === undefined || all.length < length) {
          this.#held = Buffer.from(all.subarray(0, maxHeadLength));
          return;
        }
        this.#held = Buffer.alloc(0);
        this.#frame = this.#open(all.subarray(0, length));
        rest = all.subarray(length);
        if (this.#frame.left > 0) continue;
      }
      rest = this.#payload(this.#frame, rest, on);
    }
  }

  #open(head: Buffer): OpenFrame {
    const [first = 0, second = 0] = head;
    const opcode = first & 0x0f;
    const isFinal = (first & 0x80) !== 0;
    const isMasked = (second & 0x80) !== 0;
    const short = second & 0x7f;
    const size = short < 126 ? short : short === 126 ? head.readUInt16BE(2) : Number(head.readBigUInt64BE(2));
    if ((first & 0x70) !== 0) throw new PlatformError("invalid", "the WebSocket uses an extension that was not negotiated");
    if (isMasked !== this.#fromClient) throw new PlatformError("invalid", "a frame of the WebSocket is masked the wrong way");
    if (!Number.isSafeInteger(size)) throw new PlatformError("invalid", "a frame of the WebSocket states an impossible length");
    const mask = isMasked ? Buffer.from(head.subarray(head.length - 4)) : undefined;
    const frame = { isFinal, mask, done: 0, left: size, isFirst: true };
    if (opcode >= 8) {
      if (!isFinal || size > maxControl || opcode > opcodes.pong) throw new PlatformError("invalid", "the WebSocket has a malformed control frame");
      return { ...frame, opcode };
    }
    const isFurther = opcode === opcodes.continuation;
    if (opcode > 2 || isFurther !== (this.#message !== undefined)) throw new PlatformError("invalid", "the WebSocket has frames out of order");
    const message = this.#message ?? opcode;
    this.#message = message;
    return { ...frame, opcode: message, isFirst: !isFurther };
  }

  #payload(frame: OpenFrame, bytes: Buffer, on: (piece: WebSocketPiece) => void): Buffer {
    const piece = unmasked(bytes.subarray(0, frame.left), frame);
    frame.done += piece.length;
    frame.left -= piece.length;
    const isOver = frame.left === 0;
    if (isOver) this.#frame = undefined;
    if (frame.opcode >= 8) {
      this.#control.push(Buffer.from(piece));
      if (isOver) on({ bytes: Buffer.concat(this.#control.splice(0)), isFirst: true, isLast: true, opcode: frame.opcode });
    } else {
      const isLast = isOver && frame.isFinal;
      if (isLast) this.#message = undefined;
      on({ bytes: piece, isFirst: frame.isFirst, isLast, opcode: frame.opcode });
      frame.isFirst = false;
    }
    return bytes.subarray(piece.length);
  }
}

function headLengthOf(bytes: Buffer): number | undefined {
  const second = bytes[1];
  if (second === undefined) return undefined;
  const short = second & 0x7f;
  return 2 + (short < 126 ? 0 : short === 126 ? 2 : 8) + ((second & 0x80) !== 0 ? 4 : 0);
}

/** A copy if there is a mask, since the masked bytes themselves are passed on. */
function unmasked(bytes: Buffer, { mask, done }: OpenFrame): Buffer {
  if (mask === undefined) return bytes;
  const plain = Buffer.allocUnsafeSlow(bytes.length);
  for (let at = 0; at < bytes.length; at += 1) plain[at] = (bytes[at] ?? 0) ^ (mask[(done + at) & 3] ?? 0);
  return plain;
}

/** A whole message of a client. `mask`: four bytes that nobody can predict. Pure. */
export function encodeClientMessage(opcode: number, payload: Buffer, mask: Buffer): Buffer {
  const message = encodeServerMessage(opcode, payload);
  const head = Buffer.from(message.subarray(0, message.length - payload.length));
  head[1] = (head[1] ?? 0) | 0x80;
  return Buffer.concat([head, mask, payload.map((byte, at) => byte ^ (mask[at & 3] ?? 0))]);
}

/** A whole message of a server. Pure. */
export function encodeServerMessage(opcode: number, payload: Buffer): Buffer {
  const { length } = payload;
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head[0] = 0x80 | opcode;
  head[1] = length < 126 ? length : length < 65_536 ? 126 : 127;
  if (head.length === 4) head.writeUInt16BE(length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, payload]);
}
