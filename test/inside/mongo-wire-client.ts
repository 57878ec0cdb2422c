import type { Socket } from "node:net";
import { type Document, deserialize, serialize } from "bson";
import { expect } from "vitest";
import { opMsg, readAnswer, readHeader } from "../../agent/db/mongodb/wire-message.ts";

/** A client of MongoDB without a driver: commands out, answers in. */
export class MongoWireClient {
  readonly #socket: Socket;
  #bytes: Buffer = Buffer.alloc(0);
  #requestId = 100;
  readonly ended: Promise<void>;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (chunk) => {
      this.#bytes = Buffer.concat([this.#bytes, Buffer.from(chunk)]);
    });
    this.ended = new Promise((resolve) => socket.once("close", () => resolve()));
    socket.on("end", () => socket.end());
  }

  send(command: Document, flags = 0): number {
    this.#requestId += 1;
    this.#socket.write(opMsg({ requestId: this.#requestId }, Buffer.from(serialize(command)), flags));
    return this.#requestId;
  }

  /** By OP_QUERY. */
  query(command: Document, namespace = "admin.$cmd"): void {
    const head = Buffer.concat([Buffer.alloc(20), Buffer.from(`${namespace}\0`), Buffer.alloc(4), Buffer.of(255, 255, 255, 255)]);
    head.writeInt32LE(2004, 12);
    const message = Buffer.concat([head, Buffer.from(serialize(command))]);
    message.writeInt32LE(message.length, 0);
    this.#socket.write(message);
  }

  write(bytes: Buffer): void {
    this.#socket.write(bytes);
  }

  leave(): void {
    this.#socket.end();
  }

  async next(): Promise<{ readonly responseTo: number; readonly opcode: number; readonly flags: number; readonly document: Document }> {
    await expect.poll(() => this.#bytes.length >= 16 && this.#bytes.length >= this.#bytes.readInt32LE(0), { interval: 5 }).toBe(true);
    const length = this.#bytes.readInt32LE(0);
    const message = this.#bytes.subarray(0, length);
    this.#bytes = this.#bytes.subarray(length);
    const { responseTo, opcode } = readHeader(message);
    return { responseTo, opcode, flags: message.readUInt32LE(16), document: deserialize(readAnswer(message).document) };
  }

  async ask(command: Document): Promise<Document> {
    const id = this.send(command);
    const { responseTo, document } = await this.next();
    expect(responseTo).toBe(id);
    return document;
  }
}
