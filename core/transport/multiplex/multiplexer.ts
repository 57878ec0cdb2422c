import type { Duplex } from "node:stream";
import { PlatformError } from "../../errors/platform-error.ts";
import { broken, dataFrame, FrameReader, frameHeader } from "./multiplex-frames.ts";
import { MultiplexedStream } from "./multiplexed-stream.ts";

export interface MultiplexerOptions {
  /** Maximum number of streams that are open at once. Both sides have the same. */
  readonly most: number;
  /** Takes the streams that the peer opens; left out at the side that opens them. */
  readonly onStream?: (stream: Duplex) => void;
}

/** Time for the peer to take the last frames, ms. */
const closeMs = 2_000;

/**
 * Several streams over one connection, each with its own windows and its own end. A stream costs one frame to open, and no round trip. The connection
 * is ended by `close`, by its peer, or by a peer that breaks the protocol; its streams are destroyed then.
 */
export class Multiplexer {
  readonly #socket: Duplex;
  readonly #options: MultiplexerOptions;
  readonly #streams = new Map<number, MultiplexedStream>();
  /** Writes that wait until the socket has room. */
  readonly #waiting: (() => void)[] = [];
  #lastId = 0;
  #isGathering = false;
  /** One of the sides accepts no more streams. */
  #isLast = false;
  #isLeaving = false;
  #isOver = false;
  /** Called when a stream has ended. */
  onEnded: () => void = () => {};
  /** Resolves when the connection has ended. Never rejects. */
  readonly closed: Promise<void>;

  constructor(socket: Duplex, options: MultiplexerOptions) {
    this.#socket = socket;
    this.#options = options;
    const reader = new FrameReader({ onFrame: this.#onFrame, onData: (id, bytes) => this.#known(id)?.received(bytes) });
    socket.on("data", (chunk: Buffer) => {
      if (this.#isOver) return;
      try {
        reader.push(chunk);
      } catch {
        this.#over();
      }
    });
    socket.on("drain", () => {
      for (const done of this.#waiting.splice(0)) done();
    });
    socket.on("error", () => {}).on("end", () => this.#over());
    this.closed = new Promise((resolve) => {
      socket.on("close", () => {
        this.#over();
        resolve();
      });
    });
    if (socket.destroyed || socket.readableEnded) this.#over();
    else socket.resume();
  }

  /** Number of open streams. */
  get size(): number {
    return this.#streams.size;
  }

  /** Whether `open` would open one. */
  get hasRoom(): boolean {
    return !this.#isLast && !this.#isOver && this.#streams.size < this.#options.most;
  }

  /** Begins a stream. Throws `unavailable`. */
  open(): Duplex {
    if (!this.hasRoom) throw new PlatformError("unavailable", "the connection carries no more streams");
    this.#lastId += 1;
    this.#write(frameHeader("open", this.#lastId));
    return this.#add(this.#lastId).duplex;
  }

  /** No more streams on this connection; those that are open go on. */
  refuseMore(): void {
    if (this.#isLast || this.#isOver) return;
    this.#isLast = true;
    this.#write(frameHeader("last", 0));
  }

  /** Ends the connection once what was written has left, and the streams that are open with it. */
  close(): void {
    if (this.#isOver || this.#isLeaving) return;
    this.#isLeaving = true;
    this.#isLast = true;
    const timer = setTimeout(() => this.#over(), closeMs);
    this.#socket.once("close", () => clearTimeout(timer)).end(() => this.#over());
  }

  #add(id: number): MultiplexedStream {
    const stream = new MultiplexedStream({
      send: (kind, amount = 0) => void this.#write(frameHeader(kind, id, amount)),
      sendData: (bytes, done) => {
        for (const piece of dataFrame(id, bytes)) this.#write(piece);
        if (this.#socket.writableNeedDrain) this.#waiting.push(done);
        else done();
      },
      forget: () => {
        if (this.#streams.delete(id)) this.onEnded();
      },
    });
    this.#streams.set(id, stream);
    return stream;
  }

  readonly #onFrame: ConstructorParameters<typeof FrameReader>[0]["onFrame"] = (kind, id, amount) => {
    if (kind === "last") this.#isLast = true;
    else if (kind === "open") this.#accept(id);
    else if (kind === "window") this.#known(id)?.granted(amount);
    else if (kind === "end") this.#known(id)?.ended();
    else this.#known(id)?.cut();
  };

  #accept(id: number): void {
    const { onStream, most } = this.#options;
    if (onStream === undefined || id <= this.#lastId) throw broken(`it opened stream ${id}`);
    this.#lastId = id;
    // It may have been on its way when this side said that there are no more.
    if (this.#isLast || this.#streams.size >= most) this.#write(frameHeader("reset", id));
    else onStream(this.#add(id).duplex);
  }

  /** Undefined: it has ended at this side, and the peer may not know it yet. */
  #known(id: number): MultiplexedStream | undefined {
    if (id > this.#lastId) throw broken(`stream ${id} is not open`);
    return this.#streams.get(id);
  }

  /** What is written while the events at hand are handled leaves in one piece: one record of TLS for several frames. */
  #write(bytes: Buffer): void {
    if (this.#isOver || this.#socket.destroyed || this.#socket.writableEnded) return;
    if (!this.#isGathering) {
      this.#isGathering = true;
      this.#socket.cork();
      setImmediate(() => {
        this.#isGathering = false;
        this.#socket.uncork();
      });
    }
    this.#socket.write(bytes);
  }

  #over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const stream of this.#streams.values()) stream.cut();
    this.#waiting.splice(0);
    this.#socket.destroy();
  }
}
