import type { Writable } from "node:stream";

/** The frame that carries these bytes; `later` if none can begin now, undefined if nobody accepts them any longer. */
type FrameOf = (bytes: Buffer) => Buffer | "later" | undefined;

interface Waiting {
  readonly bytes: Buffer;
  /** It is on its way as a frame. */
  readonly onPut: (() => void) | undefined;
  /** It was sent, or dropped. */
  readonly done: (() => void) | undefined;
}

/** One direction of a relay, as far as an insertion needs it. */
interface Direction {
  readonly to: Writable;
  /** A piece is being read and has not gone on: what the tap has seen is ahead of what was sent. */
  readonly isAhead: () => boolean;
}

/** Pieces from outside the two ends, inserted into one direction of a relay between two frames. Callers of `put` limit their number. */
export class Insertion {
  readonly #frameOf: FrameOf;
  readonly #waiting: Waiting[] = [];
  #direction: Direction | undefined;
  #unsent = 0;
  #isOver = false;

  constructor(frameOf: FrameOf) {
    this.#frameOf = frameOf;
  }

  /** Bytes that wait for a place, or for a receiver that does not read. */
  get unsent(): number {
    return this.#unsent;
  }

  /** Sent as soon as a frame may begin; dropped if none will. */
  put(bytes: Buffer, { onPut, done }: Partial<Pick<Waiting, "onPut" | "done">> = {}): void {
    this.#unsent += bytes.length;
    this.#waiting.push({ bytes, onPut, done });
    this.flush();
  }

  /** The relay has begun. */
  begin(direction: Direction): void {
    this.#direction = direction;
    this.flush();
  }

  /** The relay has passed a piece on. */
  flush(): void {
    while (this.#waiting.length > 0) {
      const [next] = this.#waiting;
      if (next === undefined) return;
      const frame = this.#isOver ? undefined : this.#frame(next.bytes);
      if (frame === "later") return;
      this.#waiting.shift();
      if (frame === undefined) this.#done(next);
      else this.#send(frame, next);
    }
  }

  /** The relay has ended. */
  end(): void {
    this.#isOver = true;
    this.flush();
  }

  #frame(bytes: Buffer): ReturnType<FrameOf> {
    if (this.#direction === undefined || this.#direction.isAhead()) return "later";
    const { writable } = this.#direction.to;
    return writable ? this.#frameOf(bytes) : undefined;
  }

  #send(frame: Buffer, piece: Waiting): void {
    piece.onPut?.();
    this.#direction?.to.write(frame, () => this.#done(piece));
  }

  #done({ bytes, done }: Waiting): void {
    this.#unsent -= bytes.length;
    done?.();
  }
}

/** Pieces that participants insert into the streams of a program with a terminal. */
export interface ProgramInserts {
  /** Input, as if the client had typed it. */
  readonly typed: Insertion;
  /** Output, as if the program had shown it. */
  readonly shown: Insertion;
}
