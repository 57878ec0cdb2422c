import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** First packets of PostgreSQL's protocol as clients send them, by hand. */
export const sslRequest: Buffer = words(8, 80_877_103);
export const gssRequest: Buffer = words(8, 80_877_104);

/** Version 3.`minor`. */
export function startupPacket(parameters: Readonly<Record<string, string>>, minor = 0): Buffer {
  const body = Buffer.from(`${Object.entries(parameters).flat().join("\0")}\0\0`);
  return Buffer.concat([words(8 + body.length, 196_608 + minor), body]);
}

export function cancelRequest(processId: number, secret: number): Buffer {
  return words(16, 80_877_102, processId, secret);
}

function words(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value >>> 0, 4 * index);
  return bytes;
}

export interface ServerMessage {
  readonly type: string;
  readonly body: Buffer;
}

/** A connection on which a test sends bytes by hand. */
export class RawPostgres implements AsyncDisposable {
  readonly #socket: Socket;
  #held: Buffer = Buffer.alloc(0);
  #wake: () => void = () => {};
  #closed = false;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => {
      this.#held = Buffer.concat([this.#held, chunk]);
      this.#wake();
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      this.#closed = true;
      this.#wake();
    });
  }

  static async open(port: number): Promise<RawPostgres> {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    await once(socket, "connect");
    return new RawPostgres(socket);
  }

  send(bytes: Buffer): void {
    this.#socket.write(bytes);
  }

  /** The next bytes; fewer when the connection closes before. */
  async take(count: number): Promise<Buffer> {
    while (this.#held.length < count && !this.#closed) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      await promise;
    }
    const bytes = this.#held.subarray(0, count);
    this.#held = this.#held.subarray(count);
    return bytes;
  }

  /** The messages up to one of this type, which is the last; or up to the end of the connection. */
  async until(type: string): Promise<ServerMessage[]> {
    const messages: ServerMessage[] = [];
    for (;;) {
      const head = await this.take(5);
      if (head.length < 5) return messages;
      const message = { type: head.toString("latin1", 0, 1), body: await this.take(head.readUInt32BE(1) - 4) };
      messages.push(message);
      if (message.type === type) return messages;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return;
    const closed = once(this.#socket, "close");
    this.#socket.destroy();
    await closed;
  }
}
