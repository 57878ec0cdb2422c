import { HeldBytes } from "../../core/bytes/held-bytes.ts";
import { toPlatformError } from "../../core/errors/platform-error.ts";

/** How the messages of a protocol are framed. */
export interface FrameFormat {
  /** Length of the header, in which the length of the frame stands. */
  readonly headerBytes: number;
  /** Length of the whole frame, header included. Throws PlatformError `invalid` for a header that the protocol does not allow. */
  readonly lengthOf: (header: Buffer) => number;
  /** Maximum bytes of the body that `judge` needs; they wait until all of them are here. */
  readonly keep: (header: Buffer) => number;
}

export interface Frame {
  readonly header: Buffer;
  /** The beginning of the body: all of it, or as much as `keep` asked for. Valid during the call only: copy what stays. */
  readonly body: Buffer;
  /** Of the whole frame, header included. */
  readonly length: number;
}

/** What happens to a frame; a buffer takes its place. */
export type Verdict = "pass" | "drop" | Buffer;

/** Decides about a frame before any byte of it goes on. Throws to end the session. */
export type Judge = (frame: Frame) => Verdict;

/** Follows one direction of a protocol, whatever the chunks in which it arrives. */
export interface Filter {
  /** Whether all that went on so far are whole messages: another one may be inserted here. */
  readonly atBoundary: boolean;
  /** Bytes held back; they belong to no message that has gone on in part. */
  readonly heldBytes: number;
  /** The bytes that go on, in order. Throws PlatformError `invalid` for bytes that the protocol does not allow. */
  push(chunk: Buffer): Buffer[];
  /** What `push` would have thrown if nothing before it in the same chunk went on. */
  readonly failure?: Error | undefined;
  /** The session is over: the rest of a message that has gone on in part passes, and nothing after it. */
  finish?(): void;
}

/**
 * Follows the frames of one direction whatever the chunks in which they arrive, and lets each of them pass, replaces it or drops it. Holds back a
 * header and what `keep` asks for, and nothing else: a frame of any length streams through.
 */
export class FrameFilter implements Filter {
  readonly #format: FrameFormat;
  readonly #judge: Judge;
  /** Bytes of a frame that is not decided yet, and how many of them a decision needs. */
  readonly #held = new HeldBytes();
  #needed = 0;
  /** Bytes of the decided frame that are still to come. */
  #left = 0;
  #passes = true;
  #isOver = false;
  #failure: Error | undefined;

  constructor(format: FrameFormat, judge: Judge) {
    this.#format = format;
    this.#judge = judge;
  }

  get atBoundary(): boolean {
    return this.#left === 0 || !this.#passes;
  }

  get heldBytes(): number {
    return this.#held.length;
  }

  get failure(): Error | undefined {
    return this.#failure;
  }

  finish(): void {
    this.#isOver = true;
  }

  /** Passing frames of one chunk stay in one piece. Throws what the format and the judge throw. */
  push(chunk: Buffer): Buffer[] {
    if (this.#failure !== undefined) throw this.#failure;
    const bytes = this.#withHeld(chunk);
    if (bytes === undefined) return [];
    const out: Buffer[] = [];
    try {
      this.#follow(bytes, out);
    } catch (thrown) {
      if (out.length === 0) throw thrown;
      this.#failure = toPlatformError(thrown);
    }
    return out;
  }

  /** Undefined: it is held too, and not enough yet. */
  #withHeld(chunk: Buffer): Buffer | undefined {
    if (this.#held.length === 0) return chunk;
    this.#held.add(chunk, this.#needed);
    return this.#held.length < this.#needed ? undefined : this.#held.take();
  }

  #follow(bytes: Buffer, out: Buffer[]): void {
    /** Beginning of the passing bytes that are not in `out` yet. */
    let from = 0;
    let at = 0;
    const flush = (): void => {
      if (at > from) out.push(bytes.subarray(from, at));
      from = at;
    };
    try {
      for (;;) {
        const step = Math.min(this.#left, bytes.length - at);
        if (!this.#passes) flush();
        at += step;
        this.#left -= step;
        if (!this.#passes) from = at;
        if (at === bytes.length || (this.#isOver && this.atBoundary)) return;
        const frame = this.#next(bytes.subarray(at));
        if (frame === undefined) {
          this.#held.add(Buffer.from(bytes.subarray(at)));
          return;
        }
        const verdict = this.#judge(frame);
        this.#passes = verdict === "pass";
        this.#left = frame.length;
        if (this.#passes) continue;
        flush();
        if (typeof verdict !== "string") out.push(verdict);
      }
    } finally {
      flush();
    }
  }

  /** Undefined: not enough bytes for a decision. */
  #next(bytes: Buffer): Frame | undefined {
    const { headerBytes, lengthOf, keep } = this.#format;
    this.#needed = headerBytes;
    if (bytes.length < headerBytes) return undefined;
    const header = bytes.subarray(0, headerBytes);
    const length = lengthOf(header);
    const end = Math.min(length, headerBytes + keep(header));
    this.#needed = end;
    return bytes.length < end ? undefined : { header, body: bytes.subarray(headerBytes, end), length };
  }
}
