import { Duplex } from "node:stream";
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

/** One stream of a connection: its ends towards the user, and towards the frames. */
export interface MultiplexedStream {
  readonly duplex: Duplex;
  /** Throws `invalid` for more than the window allows. */
  received(bytes: Buffer): void;
  granted(bytes: number): void;
  /** The peer sends nothing more. */
  ended(): void;
  /** The peer, or the connection, has ended the stream. */
  cut(): void;
}

/** A stream with a window each way: one whose reader is slow does not hold up the others. */
export function multiplexedStream(writer: FrameWriter): MultiplexedStream {
  let sendWindow = firstWindow;
  let held: { bytes: Buffer; readonly done: () => void } | undefined;
  /** What the peer may send until it gets more, and how much that is when the reader has taken everything. */
  let [open, size] = [firstWindow, firstWindow];
  let taken = 0;
  let hasRoom = true;
  let [isCut, hasEnded] = [false, false];

  const sendHeld = (): void => {
    while (held !== undefined && sendWindow > 0) {
      const { bytes, done } = held;
      const part = bytes.subarray(0, Math.min(sendWindow, maxFrameData));
      sendWindow -= part.length;
      const isAll = part.length === bytes.length;
      held = isAll ? undefined : { bytes: bytes.subarray(part.length), done };
      writer.sendData(part, isAll ? done : () => {});
    }
  };
  const grant = (): void => {
    if (taken < size / 2) return;
    const growth = Math.min(size, mostWindow - size);
    size += growth;
    open += taken + growth;
    writer.send("window", taken + growth);
    taken = 0;
  };

  const duplex = new Duplex({
    read: () => {
      hasRoom = true;
      grant();
    },
    write: (bytes: Buffer, _encoding, done) => {
      if (bytes.length === 0 || isCut) return done();
      held = { bytes, done };
      sendHeld();
    },
    final: (done) => {
      if (!isCut) writer.send("end");
      done();
    },
    destroy: (error, done) => {
      const isWhole = duplex.readableEnded && duplex.writableFinished;
      if (!isWhole && !isCut) writer.send("reset");
      held = undefined;
      writer.forget();
      done(error);
    },
  });

  return {
    duplex,
    received: (bytes) => {
      open -= bytes.length;
      if (open < 0) throw broken("more data than the window allows");
      taken += bytes.length;
      hasRoom = duplex.push(bytes);
      if (hasRoom) grant();
    },
    granted: (bytes) => {
      sendWindow += bytes;
      if (sendWindow > 2 * mostWindow) throw broken("a window that is too large");
      sendHeld();
    },
    ended: () => {
      hasEnded = true;
      duplex.push(null);
    },
    cut: () => {
      isCut = true;
      // What came before its end is still to be read.
      if (hasEnded && !duplex.readableEnded) duplex.once("end", () => duplex.destroy());
      else duplex.destroy();
    },
  };
}
