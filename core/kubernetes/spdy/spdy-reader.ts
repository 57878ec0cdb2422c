import { PlatformError } from "../../errors/platform-error.ts";
import { HeaderInflater } from "./header-block.ts";

/*
 * SPDY/3.1, as Kubernetes streams speak it: no flow control, no settings that matter.
 *
 *   data       0 | stream u31      flags u8 | length u24      bytes
 *   control    1 | version u15 | type u16      flags u8 | length u24      body
 *
 *   SYN_STREAM (1)    stream u32, associated u32, priority u8, slot u8, header block
 *   SYN_REPLY  (2)    stream u32, header block
 *   RST_STREAM (3)    stream u32, status u32
 *   HEADERS    (8)    stream u32, header block
 *
 * Header blocks are deflated, with one context for each direction; flag 1 is the end of the sender's half.
 */

const headLength = 8;
const version = 3;
const types = { open: 1, reply: 2, reset: 3, headers: 8 } as const;
/** Longest control frame, bytes. */
const maxControl = 32 * 1024;

export type SpdyEvent =
  /** `pairs` have lower-case names. */
  | { readonly kind: "open"; readonly stream: number; readonly headers: ReadonlyMap<string, string>; readonly isLast: boolean }
  | { readonly kind: "headers"; readonly stream: number; readonly headers: ReadonlyMap<string, string>; readonly isLast: boolean }
  /** A piece of a frame; it is not kept. `isLast`: the sender's half ends after it. */
  | { readonly kind: "data"; readonly stream: number; readonly bytes: Buffer; readonly isLast: boolean }
  | { readonly kind: "reset"; readonly stream: number };

type FrameHead = { readonly rest: Buffer } & ({ readonly data: OpenData; readonly control: undefined } | { readonly control: Buffer });

interface OpenData {
  readonly stream: number;
  readonly isLast: boolean;
  /** Bytes that are still to come. */
  left: number;
}

/** Reads one direction of a connection, however the bytes are split; never holds data. */
export class SpdyReader {
  readonly #inflater = new HeaderInflater();
  /** The beginning of a frame, or a control frame, that is not complete. */
  #held: Buffer = Buffer.alloc(0);
  /** The data frame whose bytes come next. */
  #data: OpenData | undefined;

  /** Whether what has been read ends between two frames. */
  get isBetween(): boolean {
    return this.#held.length === 0 && this.#data === undefined;
  }

  /** Reports what the bytes hold. A promise where headers have to be inflated: wait for it before the next bytes. Throws, or rejects with, `invalid`. */
  take(chunk: Buffer, on: (event: SpdyEvent) => void): Promise<void> | undefined {
    let rest = chunk;
    while (rest.length > 0) {
      rest = this.#data === undefined ? rest : this.#takeData(this.#data, rest, on);
      if (this.#data !== undefined || rest.length === 0) continue;
      const frame = this.#takeHead(rest);
      if (frame === undefined) return undefined;
      rest = frame.rest;
      if (frame.control === undefined) {
        this.#data = frame.data;
        // Its end has to be reported though no byte of it will come.
        if (frame.data.left === 0) this.#takeData(frame.data, rest.subarray(0, 0), on);
        continue;
      }
      const reading = this.#control(frame.control, on);
      if (reading !== undefined) {
        const after = rest;
        return reading.then(async () => await this.take(after, on));
      }
    }
    return undefined;
  }

  close(): void {
    this.#inflater.close();
  }

  #takeData(data: OpenData, bytes: Buffer, on: (event: SpdyEvent) => void): Buffer {
    const piece = bytes.subarray(0, data.left);
    data.left -= piece.length;
    const isOver = data.left === 0;
    if (isOver) this.#data = undefined;
    on({ kind: "data", stream: data.stream, bytes: piece, isLast: isOver && data.isLast });
    return bytes.subarray(piece.length);
  }

  /** The next frame's head, or all of a control frame; undefined: there is more to come, and it is held. */
  #takeHead(bytes: Buffer): FrameHead | undefined {
    const all = this.#held.length === 0 ? bytes : Buffer.concat([this.#held, bytes]);
    if (all.length < headLength) return this.#hold(all);
    const length = all.readUIntBE(5, 3);
    const isControl = (all.readUInt8(0) & 0x80) !== 0;
    if (!isControl) {
      this.#held = Buffer.alloc(0);
      const data = { stream: all.readUInt32BE(0), isLast: (all.readUInt8(4) & 1) !== 0, left: length };
      return { data, control: undefined, rest: all.subarray(headLength) };
    }
    if ((all.readUInt16BE(0) & 0x7fff) !== version) throw new PlatformError("invalid", "the stream does not speak SPDY/3.1");
    if (length > maxControl) throw new PlatformError("invalid", `the stream has a control frame of ${length} bytes`);
    if (all.length < headLength + length) return this.#hold(all);
    this.#held = Buffer.alloc(0);
    return { control: all.subarray(0, headLength + length), rest: all.subarray(headLength + length) };
  }

  #hold(bytes: Buffer): undefined {
    // A copy: it would keep the whole piece that came.
    this.#held = Buffer.from(bytes);
    return undefined;
  }

  #control(frame: Buffer, on: (event: SpdyEvent) => void): Promise<void> | undefined {
    const type = frame.readUInt16BE(2);
    const isLast = (frame.readUInt8(4) & 1) !== 0;
    const kind = type === types.open ? "open" : type === types.reply || type === types.headers ? "headers" : undefined;
    const bodyAt = headLength + (kind === "open" ? 10 : 4);
    if (kind === undefined && type !== types.reset) return undefined;
    if (frame.length < bodyAt) throw new PlatformError("invalid", "the stream has a control frame that is too short");
    const stream = frame.readUInt32BE(headLength) & 0x7fffffff;
    if (kind === undefined) {
      on({ kind: "reset", stream });
      return undefined;
    }
    return this.#inflater.read(Buffer.from(frame.subarray(bodyAt))).then((headers) => on({ kind, stream, headers, isLast }));
  }
}

/** A data frame. Pure. */
export function encodeSpdyData(stream: number, bytes: Buffer, isLast: boolean): Buffer {
  const head = Buffer.alloc(headLength);
  head.writeUInt32BE(stream & 0x7fffffff, 0);
  head.writeUInt8(isLast ? 1 : 0, 4);
  head.writeUIntBE(bytes.length, 5, 3);
  return Buffer.concat([head, bytes]);
}
