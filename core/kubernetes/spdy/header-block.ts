import { constants, createInflate, type Inflate } from "node:zlib";
import { PlatformError } from "../../errors/platform-error.ts";
import { spdyDictionary } from "./spdy-dictionary.ts";

/** Longest header block, once inflated, bytes. */
const maxBlock = 64 * 1024;
const maxPairs = 256;

/** Inflates the header blocks of one direction, which together form one zlib stream. */
export class HeaderInflater {
  readonly #inflate: Inflate = createInflate({ dictionary: spdyDictionary, flush: constants.Z_SYNC_FLUSH, chunkSize: 4096 });
  #pieces: Buffer[] = [];
  #length = 0;
  #fail: (error: Error) => void = () => {};

  constructor() {
    this.#inflate.on("error", (error: Error) => this.#fail(error));
    this.#inflate.on("data", (piece: Buffer) => {
      this.#length += piece.length;
      if (this.#length > maxBlock) this.#inflate.destroy(new Error("a header block is too large"));
      else this.#pieces.push(piece);
    });
  }

  /** One block, one after the other. Throws `invalid`. */
  async read(block: Buffer): Promise<ReadonlyMap<string, string>> {
    this.#pieces = [];
    this.#length = 0;
    try {
      await new Promise<void>((resolve, reject) => {
        this.#fail = reject;
        if (this.#inflate.destroyed) reject(new Error("the headers before could not be read"));
        else this.#inflate.write(block, (error) => (error ? reject(error) : resolve()));
      });
    } catch (cause) {
      throw new PlatformError("invalid", "a header block of the stream cannot be inflated", { cause });
    }
    return decodePairs(Buffer.concat(this.#pieces));
  }

  close(): void {
    this.#inflate.destroy();
  }
}

/**
 * Names and values of an inflated block; of a name that is there twice, the first. Throws `invalid`. Pure.
 *
 *   count     u32
 *   pairs     u32 length | name | u32 length | value
 */
export function decodePairs(block: Buffer): ReadonlyMap<string, string> {
  const pairs = new Map<string, string>();
  let at = 0;
  const number = (): number => {
    if (at + 4 > block.length) throw new PlatformError("invalid", "a header block of the stream ends early");
    at += 4;
    return block.readUInt32BE(at - 4);
  };
  const text = (): string => {
    const length = number();
    if (length > block.length - at) throw new PlatformError("invalid", "a header block of the stream states a length beyond its end");
    at += length;
    return block.toString("latin1", at - length, at);
  };
  const count = number();
  if (count > maxPairs) throw new PlatformError("invalid", `a header block of the stream has more than ${maxPairs} headers`);
  for (let index = 0; index < count; index += 1) {
    const name = text().toLowerCase();
    const value = text();
    if (!pairs.has(name)) pairs.set(name, value);
  }
  return pairs;
}
