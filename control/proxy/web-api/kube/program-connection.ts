import type { Duplex } from "node:stream";
import type { RawData, WebSocket } from "ws";
import { programChannels as channels } from "../../../../core/kubernetes/program-channels.ts";
import { encodeSpdyData, type SpdyEvent, SpdyReader } from "../../../../core/kubernetes/spdy/spdy-reader.ts";
import { SpdyWriter } from "../../../../core/kubernetes/spdy/spdy-writer.ts";

/** Called with what comes from a program in a container. */
export interface ProgramListener {
  /** A piece of a channel; it may be kept. */
  readonly onPiece: (channel: number, bytes: Buffer) => void;
  /** Nothing comes any more. */
  readonly onClose: () => void;
}

/** The channels of a program in a container (core/kubernetes/program-channels.ts), whatever carries them. */
export interface ProgramConnection {
  /** Call it once, before anything else. */
  begin(listener: ProgramListener): void;
  /** `done` is called once the connection has taken it. */
  send(channel: number, bytes: Buffer, done: () => void): void;
  pause(): void;
  resume(): void;
  destroy(): void;
}

/** Over a WebSocket that has just opened: nothing that comes is lost until it begins. */
export function overWebSocket(socket: WebSocket): ProgramConnection {
  socket.on("error", () => {}).pause();
  return {
    begin: ({ onPiece, onClose }) => {
      // Binary messages are single buffers; servers look at the channel and never at the opcode.
      socket.on("message", (data: RawData) => {
        const bytes = data as Buffer;
        const [channel] = bytes;
        if (channel !== undefined) onPiece(channel, bytes.subarray(1));
      });
      if (socket.readyState === socket.CLOSED) onClose();
      else socket.once("close", onClose).resume();
    },
    send: (channel, bytes, done) => {
      if (socket.readyState === socket.OPEN) socket.send(Buffer.concat([Buffer.from([channel]), bytes]), () => done());
      else done();
    },
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    destroy: () => socket.terminate(),
  };
}

/** Streams of a program with a terminal, in the order in which kubectl opens them, and their channels: clients count in odd numbers. */
const streams = [
  { id: 1, type: "error", channel: channels.error },
  { id: 3, type: "stdin", channel: channels.stdin },
  { id: 5, type: "stdout", channel: channels.stdout },
  { id: 7, type: "resize", channel: channels.resize },
] as const;

/** Over a connection that has been upgraded to SPDY/3.1, on which nothing has been sent yet: opens the streams. */
export async function overSpdy(socket: Duplex): Promise<ProgramConnection> {
  const writer = new SpdyWriter();
  const opening: Buffer[] = [];
  for (const { id, type } of streams) opening.push(await writer.open(id, { streamtype: type }));
  writer.close();
  socket.on("error", () => {}).write(Buffer.concat(opening));
  return new SpdyConnection(socket);
}

class SpdyConnection implements ProgramConnection {
  readonly #socket: Duplex;
  readonly #reader = new SpdyReader();
  /** Those of the server's half that have not ended: once the program's output and its status are over, so is the connection. */
  readonly #open = new Set<number>(streams.filter(({ type }) => type === "error" || type === "stdout").map(({ id }) => id));
  #isPaused = false;
  #isInflating = false;

  constructor(socket: Duplex) {
    this.#socket = socket;
  }

  begin({ onPiece, onClose }: ProgramListener): void {
    const close = (): void => {
      this.#reader.close();
      onClose();
    };
    if (this.#socket.destroyed) close();
    this.#socket.once("close", close).once("end", () => this.destroy());
    this.#socket.on("data", (chunk: Buffer) => this.#take(chunk, onPiece));
    // It may have ended right behind its answer.
    if (this.#socket.readableEnded) this.destroy();
  }

  send(channel: number, bytes: Buffer, done: () => void): void {
    const id = streams.find((one) => one.channel === channel)?.id;
    if (id === undefined || this.#socket.destroyed) done();
    else this.#socket.write(encodeSpdyData(id, bytes, false), () => done());
  }

  pause(): void {
    this.#isPaused = true;
    this.#socket.pause();
  }

  resume(): void {
    this.#isPaused = false;
    if (!this.#isInflating) this.#socket.resume();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** While headers are being inflated, nothing more is read. A server that breaks the protocol is left. */
  #take(chunk: Buffer, onPiece: ProgramListener["onPiece"]): void {
    try {
      const inflating = this.#reader.take(chunk, (event) => this.#on(event, onPiece));
      if (inflating === undefined) return;
      this.#isInflating = true;
      this.#socket.pause();
      const go = (): void => {
        this.#isInflating = false;
        if (!this.#isPaused) this.#socket.resume();
      };
      inflating.then(go, () => this.destroy());
    } catch {
      this.destroy();
    }
  }

  #on(event: SpdyEvent, onPiece: ProgramListener["onPiece"]): void {
    const channel = streams.find(({ id }) => id === event.stream)?.channel;
    // Of a stream that was not opened here.
    if (channel === undefined) this.destroy();
    else if (event.kind === "data" && event.bytes.length > 0) onPiece(channel, event.bytes);
    if (event.kind === "reset" || event.isLast) this.#open.delete(event.stream);
    if (this.#open.size === 0) this.destroy();
  }
}
