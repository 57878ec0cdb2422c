import { FrameFilter, type Judge } from "../frame-filter.ts";
import { clientFrames } from "./wire-message.ts";

/** Follows a client's messages; each command is judged as a whole, or by its first `most` bytes. */
export class ClientFilter extends FrameFilter {
  readonly #last: { header: Buffer };

  constructor(judge: Judge, most: number = Number.POSITIVE_INFINITY) {
    const last = { header: Buffer.alloc(0) };
    const lengthOf = (header: Buffer): number => {
      last.header = Buffer.from(header);
      return clientFrames.lengthOf(header);
    };
    super({ ...clientFrames, lengthOf, keep: (header) => Math.min(most, clientFrames.keep(header)) }, judge);
    this.#last = last;
  }

  /** Beginning of the message that came last. */
  get lastHeader(): Buffer {
    return this.#last.header;
  }
}
