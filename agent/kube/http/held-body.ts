import { Readable } from "node:stream";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { type ClientRequest, fieldOf } from "../../http/exchange.ts";

/** Longest body that is held, bytes: API servers do not accept longer ones. */
const maxBody = 3 * 1024 * 1024;

/** Time for all of a body that is held, ms. */
const bodyMs = 30_000;

export interface HeldBodyOptions {
  /** Called when a client that waits for `100 Continue` may send the body. */
  readonly onContinue: () => void;
  /** More bytes are held, for as long as the request lasts. Throws `limit` for too many. */
  readonly onHeld: (bytes: number) => void;
  readonly limitMs?: number | undefined;
}

/** A request whose body may be read before it goes on. */
export class HeldBody {
  readonly #asked: ClientRequest;
  readonly #options: HeldBodyOptions;
  #held: Buffer | undefined;

  constructor(asked: ClientRequest, options: HeldBodyOptions) {
    this.#asked = asked;
    this.#options = options;
  }

  /** All of the body; empty where there is none. Throws `invalid` for one that is too large, too slow or incomplete, and what `onHeld` throws. */
  async read(): Promise<Buffer> {
    const { body, headers } = this.#asked;
    const { onContinue, onHeld, limitMs = bodyMs } = this.#options;
    if (body === undefined) return Buffer.alloc(0);
    if (this.#held !== undefined) return this.#held;
    if (fieldOf(headers, "expect") !== undefined) onContinue();
    const { promise: late, reject } = Promise.withResolvers<never>();
    const tooSlow = new PlatformError("invalid", `the body of the request did not arrive within ${limitMs / 1000} s`);
    const timer = setTimeout(() => {
      isLate = true;
      reject(tooSlow);
    }, limitMs);
    let isLate = false;
    const whole = wholeBody(body, (bytes) => {
      if (isLate) throw tooSlow;
      onHeld(bytes);
    });
    whole.catch(() => {});
    try {
      this.#held = await Promise.race([whole, late]);
      return this.#held;
    } finally {
      clearTimeout(timer);
    }
  }

  /** The request as it goes on: with its body, whether it was read or not. */
  forwarded(): ClientRequest {
    if (this.#held === undefined) return this.#asked;
    const headers = this.#asked.headers.filter(([name]) => name.toLowerCase() !== "expect");
    return { ...this.#asked, headers, body: Readable.from([this.#held]) };
  }
}

/** What is not held is read and dropped: the client gets its response. */
async function wholeBody(body: Readable, onHeld: (bytes: number) => void): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let length = 0;
  try {
    for await (const piece of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      length += piece.length;
      if (length > maxBody) throw new PlatformError("invalid", `the body of the request is larger than ${maxBody} bytes`);
      onHeld(piece.length);
      pieces.push(piece);
    }
  } catch (thrown) {
    body.resume();
    if (thrown instanceof PlatformError) throw thrown;
    throw new PlatformError("invalid", "the body of the request was cut", { cause: thrown });
  }
  return Buffer.concat(pieces, length);
}
