import type { Socket } from "node:net";
import { errorText } from "../../../core/errors/platform-error.ts";
import { encodeMessage, type FromNew, type FromOld, maxLine } from "./handover-message.ts";

export interface ChannelEvents<T> {
  /** `undefined`: a message of a later version. Throws for anything else: then the channel ends. */
  readonly decode: (line: string) => T | undefined;
  readonly onMessage: (message: T) => void;
  /** Once; with the reason when the other process broke the protocol. */
  readonly onEnd: (fault?: string) => void;
}

/** The socket between two processes, message by message. */
export class MessageChannel<T> {
  readonly #socket: Socket;
  readonly #events: ChannelEvents<T>;
  #held = "";
  #isOver = false;

  constructor(socket: Socket, events: ChannelEvents<T>) {
    this.#socket = socket;
    this.#events = events;
    socket.setEncoding("utf8");
    socket.on("data", (chunk: string) => this.#read(chunk));
    socket.on("error", () => this.#end());
    socket.once("end", () => this.#end());
    socket.once("close", () => this.#end());
    if (socket.destroyed || socket.readableEnded) queueMicrotask(() => this.#end());
  }

  get isOpen(): boolean {
    return !this.#isOver;
  }

  send(message: FromOld | FromNew): void {
    if (this.#isOver || !this.#socket.writable) return;
    this.#socket.write(encodeMessage(message));
  }

  /** Data sent before still arrives. */
  close(): void {
    this.#isOver = true;
    this.#socket.end();
  }

  destroy(): void {
    this.#isOver = true;
    this.#socket.destroy();
  }

  #read(chunk: string): void {
    const lines = (this.#held + chunk).split("\n");
    this.#held = lines.pop() ?? "";
    try {
      if (this.#held.length > maxLine) throw new Error("a message from the other process is too long");
      for (const line of lines) {
        const message = this.#isOver ? undefined : this.#events.decode(line);
        if (message !== undefined) this.#events.onMessage(message);
      }
    } catch (thrown) {
      this.#end(errorText(thrown));
    }
  }

  #end(fault?: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#socket.destroy();
    this.#events.onEnd(fault);
  }
}
