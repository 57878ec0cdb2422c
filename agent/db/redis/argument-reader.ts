import { createHash, type Hash } from "node:crypto";
import { HeldBytes } from "../../../core/bytes/held-bytes.ts";
import { type Argument, keptBytes, keptScriptBytes } from "./command.ts";

/** An argument that is being read, whatever the pieces in which it arrives. */
export class ArgumentReader {
  readonly #length: number;
  readonly #keep: number;
  readonly #hash: Hash | undefined;
  #left: number;
  /** What was kept of the chunks before; undefined: nothing. */
  #kept: HeldBytes | undefined;
  #last: Buffer = Buffer.alloc(0);

  constructor(length: number, isScript: boolean) {
    this.#length = length;
    this.#left = length;
    this.#keep = isScript ? keptScriptBytes : keptBytes;
    this.#hash = isScript ? createHash("sha1") : undefined;
  }

  /** Number of bytes that are still to come. */
  get left(): number {
    return this.#left;
  }

  /** Takes the next bytes; what is kept of them is copied, unless they are the last ones: their chunk may be gone by the next call. */
  add(bytes: Buffer, isLast: boolean): void {
    const piece = bytes.subarray(0, Math.min(bytes.length, this.#keep - (this.#kept?.length ?? 0)));
    if (!isLast && piece.length > 0) this.#kept ??= new HeldBytes();
    this.#kept?.add(isLast ? piece : Buffer.from(piece), Math.min(this.#length, this.#keep));
    this.#hash?.update(bytes);
    this.#last = piece;
    this.#left -= bytes.length;
  }

  /** All of it, once its last bytes were added. Call it once. */
  end(): Argument {
    return { bytes: this.#kept?.bytes ?? this.#last, length: this.#length, ...(this.#hash && { sha1: this.#hash.digest("hex") }) };
  }
}
