import { Duplex } from "node:stream";
import { programChannels as channels } from "../../../../core/kubernetes/program-channels.ts";
import { type ProgramExit, StatusText } from "../../../../core/kubernetes/program-exit.ts";
import type { ProgramConnection } from "./program-connection.ts";

/**
 * Output and input of a program in a container, over a connection with its channels. The end of the connection is the end of the output; input after it is dropped.
 * While nobody reads, the connection is not read.
 */
export class ProgramStream extends Duplex {
  readonly #connection: ProgramConnection;
  readonly #status = new StatusText();
  /** The newest size that waits for the one before it. */
  #size: Buffer | undefined;
  #isSizing = false;

  constructor(connection: ProgramConnection) {
    super({ allowHalfOpen: false, readableHighWaterMark: 65_536, writableHighWaterMark: 65_536 });
    this.#connection = connection;
    connection.begin({ onPiece: (channel, bytes) => this.#take(channel, bytes), onClose: () => this.push(null) });
  }

  /** How the program ended, as far as it is known. */
  get exit(): ProgramExit | undefined {
    return this.#status.exit;
  }

  /** Of sizes that follow one which the connection has not taken yet, only the last is sent. */
  resize({ cols, rows }: { readonly cols: number; readonly rows: number }): void {
    this.#size = Buffer.from(JSON.stringify({ Width: cols, Height: rows }));
    if (!this.#isSizing) this.#sendSize();
  }

  override _read(): void {
    this.#connection.resume();
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: () => void): void {
    // What is typed after a change of size meets that size.
    if (this.#size !== undefined) this.#sendSize();
    this.#connection.send(channels.stdin, bytes, done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#connection.destroy();
    done(error);
  }

  #take(channel: number, bytes: Buffer): void {
    if (channel === channels.error) this.#status.take(bytes);
    if ((channel === channels.stdout || channel === channels.stderr) && bytes.length > 0 && !this.push(bytes)) this.#connection.pause();
  }

  #sendSize(): void {
    const size = this.#size;
    this.#size = undefined;
    this.#isSizing = size !== undefined;
    // A slow cluster holds the user up.
    if (size !== undefined) this.#connection.send(channels.resize, size, () => this.#sendSize());
  }
}
