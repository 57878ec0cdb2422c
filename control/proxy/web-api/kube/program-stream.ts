import { Duplex } from "node:stream";
import type { RawData, WebSocket } from "ws";
import { programChannels as channels } from "../../../../core/kubernetes/program-channels.ts";
import { type ProgramExit, StatusText } from "../../../../core/kubernetes/program-exit.ts";

/**
 * Output and input of a program in a container, over a WebSocket of its channels. The end of the WebSocket is the end of the output; input after it is dropped. While
 * nobody reads, the WebSocket is not read.
 */
export class ProgramStream extends Duplex {
  readonly #socket: WebSocket;
  readonly #status = new StatusText();
  /** The newest size that waits for the one before it. */
  #size: Buffer | undefined;
  #isSizing = false;

  constructor(socket: WebSocket) {
    super({ allowHalfOpen: false, readableHighWaterMark: 65_536, writableHighWaterMark: 65_536 });
    this.#socket = socket;
    socket.on("error", () => {});
    // Binary messages are single buffers; servers look at the channel and never at the opcode.
    socket.on("message", (data: RawData) => this.#take(data as Buffer));
    socket.once("close", () => this.push(null));
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
    this.#socket.resume();
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: () => void): void {
    // What is typed after a change of size meets that size.
    if (this.#size !== undefined) this.#sendSize();
    this.#send(channels.stdin, bytes, done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.terminate();
    done(error);
  }

  #take(data: Buffer): void {
    const channel = data[0];
    const bytes = data.subarray(1);
    if (channel === channels.error) this.#status.take(bytes);
    if ((channel === channels.stdout || channel === channels.stderr) && bytes.length > 0 && !this.push(bytes)) this.#socket.pause();
  }

  #sendSize(): void {
    const size = this.#size;
    this.#size = undefined;
    this.#isSizing = size !== undefined;
    if (size !== undefined) this.#send(channels.resize, size, () => this.#sendSize());
  }

  /** `done` is called once the connection has taken it: a slow cluster holds the user up. */
  #send(channel: number, bytes: Buffer, done: () => void): void {
    const socket = this.#socket;
    if (socket.readyState === socket.OPEN) socket.send(Buffer.concat([Buffer.from([channel]), bytes]), () => done());
    else done();
  }
}
