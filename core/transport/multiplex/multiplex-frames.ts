import { PlatformError } from "../../errors/platform-error.ts";

/**
 * Frames of a connection that carries several streams (`Multiplexer`):
 *
 *   Frame   u8  kind
 *           u24 amount   `data`: length of the bytes that follow; `window`: number of bytes that the peer may send in addition; else 0
 *           u32 stream   from 1 on, each greater than the ones before it; 0 in `last`
 *
 *   open    begins a stream; only the side that has dialled sends it
 *   data    its bytes
 *   window  the reader has room for more of them
 *   end     no more of them from this side
 *   reset   the stream is over, both ways
 *   last    this side accepts no more streams; those that are open go on
 */
export const frameKinds = { open: 1, data: 2, window: 3, end: 4, reset: 5, last: 6 } as const;
export type FrameKind = keyof typeof frameKinds;

/** Length of a frame without its data. */
export const headerLength = 8;
/** Maximum data of one frame, bytes: between two of them, those of other streams have their turn. */
export const maxFrameData = 65_536;

const names = Object.keys(frameKinds) as FrameKind[];
const kinds: readonly (FrameKind | undefined)[] = Array.from({ length: 7 }, (_, number) => names.find((name) => frameKinds[name] === number));

/** The header of a frame. Pure. */
export function frameHeader(kind: FrameKind, stream: number, amount = 0): Buffer {
  const header = Buffer.allocUnsafeSlow(headerLength);
  writeHeader(header, kind, stream, amount);
  return header;
}

/** Data up to this length is copied behind its header, bytes: a copy costs less than a second write. */
const mostCopied = 4_000;

/** A frame of data, as the buffers to write. Pure. */
export function dataFrame(stream: number, bytes: Buffer): readonly Buffer[] {
  if (bytes.length > mostCopied) return [frameHeader("data", stream, bytes.length), bytes];
  const frame = Buffer.allocUnsafe(headerLength + bytes.length);
  writeHeader(frame, "data", stream, bytes.length);
  frame.set(bytes, headerLength);
  return [frame];
}

function writeHeader(frame: Buffer, kind: FrameKind, stream: number, amount: number): void {
  frame.writeUInt32BE(frameKinds[kind] * 0x100_0000 + amount, 0);
  frame.writeUInt32BE(stream, 4);
}

export interface FrameSink {
  /** A frame other than `data`. */
  readonly onFrame: (kind: Exclude<FrameKind, "data">, stream: number, amount: number) => void;
  /** A part of a stream's data: as much of it as has come. */
  readonly onData: (stream: number, bytes: Buffer) => void;
}

/** Follows frames whatever the chunks in which they arrive; of data it holds nothing back. */
export class FrameReader {
  readonly #sink: FrameSink;
  readonly #header = Buffer.alloc(headerLength);
  #have = 0;
  #stream = 0;
  /** Bytes of the current data frame that are still to come. */
  #left = 0;

  constructor(sink: FrameSink) {
    this.#sink = sink;
  }

  /** Throws PlatformError `invalid` for bytes that are not frames, and what the sink throws. */
  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#left > 0) {
        const part = chunk.subarray(at, at + this.#left);
        at += part.length;
        this.#left -= part.length;
        this.#sink.onData(this.#stream, part);
        continue;
      }
      const taken = Math.min(headerLength - this.#have, chunk.length - at);
      chunk.copy(this.#header, this.#have, at, at + taken);
      at += taken;
      this.#have += taken;
      if (this.#have === headerLength) this.#begin();
    }
  }

  #begin(): void {
    this.#have = 0;
    const kind = kinds[this.#header[0] ?? 0];
    const amount = this.#header.readUIntBE(1, 3);
    const stream = this.#header.readUInt32BE(4);
    if (kind === undefined) throw broken(`unknown frame ${this.#header[0]}`);
    const isCounted = kind === "data" || kind === "window";
    if (isCounted !== amount > 0 || (kind === "last") !== (stream === 0)) throw broken(`a ${kind} frame of ${amount} for stream ${stream}`);
    if (kind !== "data") {
      this.#sink.onFrame(kind, stream, amount);
      return;
    }
    if (amount > maxFrameData) throw broken(`a data frame of ${amount} bytes`);
    this.#stream = stream;
    this.#left = amount;
  }
}

export function broken(what: string): PlatformError {
  return new PlatformError("invalid", `the peer broke the protocol of a connection with several streams: ${what}`);
}
