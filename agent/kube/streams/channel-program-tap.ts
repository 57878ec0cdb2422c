import { ChannelReader } from "../codec/channel-reader.ts";
import { encodeServerMessage, opcodes } from "../codec/web-socket-reader.ts";
import { endedStatus, SizeText, StatusText } from "./program-facts.ts";
import type { ProgramEvents, StreamTap } from "./stream-tap.ts";

const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4 } as const;

/** Reads the streams of a program in a container over a WebSocket: each message begins with the number of its channel. */
export class ChannelProgramTap implements StreamTap {
  readonly #client: ChannelReader;
  readonly #server: ChannelReader;
  readonly #isBase64: boolean;
  readonly #events: ProgramEvents;
  readonly #sizes = new SizeText();
  readonly #status = new StatusText();
  #behind: Promise<void> | undefined;

  /** `protocol`: the sub-protocol that the API server has chosen; undefined if none. */
  constructor(protocol: string | undefined, events: ProgramEvents) {
    this.#isBase64 = /(^|\.)base64\./.test(protocol ?? "");
    this.#client = new ChannelReader("client", this.#isBase64);
    this.#server = new ChannelReader("server", this.#isBase64);
    this.#events = events;
  }

  fromClient(chunk: Buffer): undefined {
    this.#client.take(chunk, ({ channel, bytes }) => {
      const size = channel === channels.resize ? this.#sizes.take(bytes) : undefined;
      if (size !== undefined) this.#events.onResize(size);
    });
  }

  fromServer(chunk: Buffer): Promise<void> | undefined {
    this.#server.take(chunk, ({ channel, bytes }) => {
      if (channel === channels.stdout || channel === channels.stderr) this.#behind = this.#events.onOutput(bytes) ?? this.#behind;
      else if (channel === channels.error) this.#events.onExit(this.#status.take(bytes));
    });
    const behind = this.#behind;
    this.#behind = undefined;
    return behind;
  }

  farewell(reason: string): Buffer | undefined {
    if (!this.#server.isBetween) return undefined;
    const status = endedStatus(reason);
    const message = this.#isBase64
      ? encodeServerMessage(opcodes.text, Buffer.from(`${channels.error}${status.toString("base64")}`))
      : encodeServerMessage(opcodes.binary, Buffer.concat([Buffer.from([channels.error]), status]));
    // 1000: a normal closure, so that clients look at the status.
    return Buffer.concat([message, encodeServerMessage(opcodes.close, Buffer.from([0x03, 0xe8]))]);
  }

  close(): void {}
}
