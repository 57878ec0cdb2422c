import { once } from "node:events";
import { constants, createDeflate } from "node:zlib";
import { spdyDictionary } from "../codec/spdy-dictionary.ts";

/** Writes the control frames of one direction: for tests that are a client or a server. */
export class SpdyWriter {
  readonly #deflate = createDeflate({ dictionary: spdyDictionary, flush: constants.Z_SYNC_FLUSH });

  async open(stream: number, headers: Readonly<Record<string, string>>, isLast = false): Promise<Buffer> {
    const ids = Buffer.alloc(10);
    ids.writeUInt32BE(stream, 0);
    return controlFrame(1, Buffer.concat([ids, await this.#block(headers)]), isLast);
  }

  async reply(stream: number, headers: Readonly<Record<string, string>> = {}): Promise<Buffer> {
    const id = Buffer.alloc(4);
    id.writeUInt32BE(stream, 0);
    return controlFrame(2, Buffer.concat([id, await this.#block(headers)]), false);
  }

  async #block(headers: Readonly<Record<string, string>>): Promise<Buffer> {
    const pairs = Object.entries(headers).flatMap(([name, value]) => [sized(name), sized(value)]);
    const count = Buffer.alloc(4);
    count.writeUInt32BE(Object.keys(headers).length);
    const written = once(this.#deflate, "data") as Promise<[Buffer]>;
    this.#deflate.write(Buffer.concat([count, ...pairs]));
    const [block] = await written;
    return block;
  }
}

function sized(text: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.length);
  return Buffer.concat([length, Buffer.from(text, "latin1")]);
}

export function controlFrame(type: number, body: Buffer, isLast: boolean, version = 3): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt16BE(0x8000 | version, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt8(isLast ? 1 : 0, 4);
  head.writeUIntBE(body.length, 5, 3);
  return Buffer.concat([head, body]);
}
