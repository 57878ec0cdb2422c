import { constants, createDeflate } from "node:zlib";
import { spdyDictionary } from "./spdy-dictionary.ts";

/** Writes the control frames of one direction (spdy-reader.ts has their layout), one after the other. */
export class SpdyWriter {
  readonly #deflate = createDeflate({ dictionary: spdyDictionary, flush: constants.Z_SYNC_FLUSH });

  /** SYN_STREAM. */
  async open(stream: number, headers: Readonly<Record<string, string>>, isLast = false): Promise<Buffer> {
    const ids = Buffer.alloc(10);
    ids.writeUInt32BE(stream, 0);
    return controlFrame(1, Buffer.concat([ids, await this.#block(headers)]), isLast);
  }

  /** SYN_REPLY. */
  async reply(stream: number, headers: Readonly<Record<string, string>> = {}): Promise<Buffer> {
    const id = Buffer.alloc(4);
    id.writeUInt32BE(stream, 0);
    return controlFrame(2, Buffer.concat([id, await this.#block(headers)]), false);
  }

  close(): void {
    this.#deflate.destroy();
  }

  /** Resolves with what this block has become: the flush brings all of it. */
  async #block(headers: Readonly<Record<string, string>>): Promise<Buffer> {
    const pairs = Object.entries(headers).flatMap(([name, value]) => [sized(name), sized(value)]);
    const count = Buffer.alloc(4);
    count.writeUInt32BE(Object.keys(headers).length);
    const pieces: Buffer[] = [];
    const onData = (piece: Buffer): void => void pieces.push(piece);
    this.#deflate.on("data", onData);
    await new Promise<void>((resolve, reject) => {
      this.#deflate.write(Buffer.concat([count, ...pairs]), (error) => (error ? reject(error) : resolve()));
    });
    this.#deflate.off("data", onData);
    return Buffer.concat(pieces);
  }
}

function sized(text: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.length);
  return Buffer.concat([length, Buffer.from(text, "latin1")]);
}

/** Pure. */
export function controlFrame(type: number, body: Buffer, isLast: boolean, version = 3): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt16BE(0x8000 | version, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt8(isLast ? 1 : 0, 4);
  head.writeUIntBE(body.length, 5, 3);
  return Buffer.concat([head, body]);
}
