import { randomBytes } from "node:crypto";
import { programChannels as channels } from "../../../core/kubernetes/program-channels.ts";
import { ChannelReader } from "../codec/channel-reader.ts";
import { encodeClientMessage, encodeServerMessage, opcodes } from "../codec/web-socket-reader.ts";
import { Insertion, type ProgramInserts } from "./insertion.ts";
import { endedStatus, SizeText } from "./program-facts.ts";
import type { ProgramEvents, StreamTap } from "./stream-tap.ts";

/** Reads the streams of a program in a container over a WebSocket: each message begins with the number of its channel. */
export class ChannelProgramTap implements StreamTap {
  readonly #client: ChannelReader;
  readonly #server: ChannelReader;
  readonly #isBase64: boolean;
  readonly #events: ProgramEvents;
  /** The program reads what the client types. */
  #hasInput: boolean;
  readonly inserts: ProgramInserts = {
    typed: new Insertion((bytes) => this.#typed(bytes)),
    shown: new Insertion((bytes) => this.#shown(bytes)),
  };
  readonly #sizes = new SizeText();
  #behind: Promise<void> | undefined;

  /** `protocol`: the sub-protocol that the API server has chosen; undefined if none. `hasInput`: the request asks for standard input. */
  constructor(protocol: string | undefined, events: ProgramEvents, hasInput: boolean) {
    this.#hasInput = hasInput;
    this.#isBase64 = /(^|\.)base64\./.test(protocol ?? "");
    this.#client = new ChannelReader("client", this.#isBase64);
    this.#server = new ChannelReader("server", this.#isBase64);
    this.#events = events;
  }

  fromClient(chunk: Buffer): undefined {
    this.#client.take(chunk, ({ channel, bytes }) => {
      if (channel === channels.closed && bytes[0] === channels.stdin) this.#hasInput = false;
      const size = channel === channels.resize ? this.#sizes.take(bytes) : undefined;
      if (size !== undefined) this.#events.onResize(size);
    });
  }

  fromServer(chunk: Buffer): Promise<void> | undefined {
    this.#server.take(chunk, ({ channel, bytes }) => {
      if (channel === channels.stdout || channel === channels.stderr) this.#behind = this.#events.onOutput(bytes) ?? this.#behind;
      else if (channel === channels.error) this.#events.onStatus(bytes);
    });
    const behind = this.#behind;
    this.#behind = undefined;
    return behind;
  }

  farewell(reason: string): Buffer | undefined {
    if (!this.#server.isBetween) return undefined;
    const { opcode, payload } = this.#message(channels.error, endedStatus(reason));
    // 1000: a normal closure, so that clients look at the status.
    return Buffer.concat([encodeServerMessage(opcode, payload), encodeServerMessage(opcodes.close, Buffer.from([0x03, 0xe8]))]);
  }

  #typed(bytes: Buffer): Buffer | "later" | undefined {
    if (!this.#hasInput || this.#client.isClosed) return undefined;
    if (!this.#client.isBetween) return "later";
    const { opcode, payload } = this.#message(channels.stdin, bytes);
    return encodeClientMessage(opcode, payload, randomBytes(4));
  }

  #shown(bytes: Buffer): Buffer | "later" | undefined {
    if (this.#server.isClosed) return undefined;
    if (!this.#server.isBetween) return "later";
    const { opcode, payload } = this.#message(channels.stdout, bytes);
    return encodeServerMessage(opcode, payload);
  }

  #message(channel: number, bytes: Buffer): { readonly opcode: number; readonly payload: Buffer } {
    if (this.#isBase64) return { opcode: opcodes.text, payload: Buffer.from(`${channel}${bytes.toString("base64")}`) };
    return { opcode: opcodes.binary, payload: Buffer.concat([Buffer.from([channel]), bytes]) };
  }

  close(): void {}
}
