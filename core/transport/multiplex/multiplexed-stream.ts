import { Duplex } from "node:stream";
import { gatherPieces } from "../../node-internals/gather-pieces.ts";
import { broken, type FrameKind, maxFrameData } from "./multiplex-frames.ts";

/** Bytes that a peer may send at first, and at most, before the reader has taken some. It grows while the reader keeps up. */
export const firstWindow = 65_536;
export const mostWindow = 1_048_576;

/** The connection below a stream. */
export interface FrameWriter {
  send(kind: Exclude<FrameKind, "data">, amount?: number): void;
  /** `done` once there is room for more. */
  sendData(bytes: Buffer, done: () => void): void;
  /** The stream is over at this side. */
  forget(): void;
}

/** One stream of a connection, with a window each way: one whose reader is slow does not hold up the others. */
export class MultiplexedStream {
  /** Its end towards the user. */
  readonly duplex: Duplex;
  readonly #writer: FrameWriter;
  #sendWindow = firstWindow;
  #held: { readonly bytes: Buffer; readonly done: () => void } | undefined;
  /** What the peer may send until it gets more, and how much that is when the reader has taken everything. */
  #open = firstWindow;
  #size = firstWindow;
  #taken = 0;
  #isCut = false;
  #hasEnded = false;

  constructor(writer: FrameWriter) {
    this.#writer = writer;
    const duplex = new Duplex({
      read: () => this.#grant(),
      write: (bytes: Buffer, _encoding, done) => {
        if (bytes.length === 0 || this.#isCut) return done();
        this.#held = { bytes, done };
        this.#sendHeld();
      },
      final: (done) => {
        if (!this.#isCut) writer.send("end");
        done();
      },
      destroy: (error, done) => {
        const isWhole = this.duplex.readableEnded && this.duplex.writableFinished;
        if (!isWhole && !this.#isCut) writer.send("reset");
        this.#held = undefined;
        writer.forget();
        done(error);
      },
    });
    this.duplex = gatherPieces(duplex);
  }

  /** Throws `invalid` for more than the window allows. */
  received(bytes: Buffer): void {
    this.#open -= bytes.length;
    if (this.#open < 0) throw broken("more data than the window allows");
    this.#taken += bytes.length;
    if (this.duplex.push(bytes)) this.#grant();
  }

  /** The peer has room for that many more. */
  granted(bytes: number): void {
    this.#sendWindow += bytes;
    if (this.#sendWindow > 2 * mostWindow) throw broken("a window that is too large");
    this.#sendHeld();
  }

  /** The peer sends nothing more. */
  ended(): void {
    this.#hasEnded = true;
    this.duplex.push(null);
  }

  /** The peer, or the connection, has ended the stream. */
  cut(): void {
    this.#isCut = true;
    // What came before its end is still to be read.
    if (this.#hasEnded && !this.duplex.readableEnded) this.duplex.once("end", () => this.duplex.destroy());
    else this.duplex.destroy();
  }

  #sendHeld(): void {
    while (this.#held !== undefined && this.#sendWindow > 0) {
      const { bytes, done } = this.#held;
      const most = Math.min(this.#sendWindow, maxFrameData);
      const isAll = bytes.length <= most;
      const part = isAll ? bytes : bytes.subarray(0, most);
      this.#sendWindow -= part.length;
      this.#held = isAll ? undefined : { bytes: bytes.subarray(part.length), done };
      this.#writer.sendData(part, isAll ? done : () => {});
    }
  }

  /** The reader has taken what it has got. */
  #grant(): void {
    if (this.#taken < this.#size / 2) return;
    const more = this.#taken + Math.min(this.#size, mostWindow - this.#size);
    this.#size = Math.min(mostWindow, this.#size * 2);
    this.#open += more;
    this.#taken = 0;
    this.#writer.send("window", more);
  }
}
