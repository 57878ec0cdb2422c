import { Readable } from "node:stream";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { type ClientRequest, fieldOf } from "../../http/exchange.ts";

/** Longest body that is held, bytes: API servers take no longer one. */
const maxBody = 3 * 1024 * 1024;

/** Time for all of a body that is held, ms. */
const bodyMs = 30_000;

/** A request whose body may be read before it goes on. */
export class HeldBody {
  readonly #asked: ClientRequest;
  readonly #onContinue: () => void;
  readonly #limitMs: number;
  #held: Buffer | undefined;

  /** `onContinue`: the client waits for a word before it sends the body. */
  constructor(asked: ClientRequest, onContinue: () => void, limitMs = bodyMs) {
    this.#limitMs = limitMs;
    this.#asked = asked;
    this.#onContinue = onContinue;
  }

  /** All of the body; empty where there is none. Throws `invalid` for one that is too large, too slow, or cut. */
  async read(): Promise<Buffer> {
    const { body, headers } = this.#asked;
    if (body === undefined) return Buffer.alloc(0);
    if (this.#held !== undefined) return this.#held;
    if (fieldOf(headers, "expect") !== undefined) this.#onContinue();
    const { promise: late, reject } = Promise.withResolvers<never>();
    const tooSlow = new PlatformError("invalid", `the body of the request did not arrive within ${this.#limitMs / 1000} s`);
    const timer = setTimeout(() => reject(tooSlow), this.#limitMs);
    const whole = wholeBody(body);
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

async function wholeBody(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let length = 0;
  try {
    for await (const piece of body) {
      length += piece.length;
      if (length > maxBody) throw new PlatformError("invalid", `the body of the request is larger than ${maxBody} bytes`);
      pieces.push(piece);
    }
  } catch (thrown) {
    if (thrown instanceof PlatformError) throw thrown;
    throw new PlatformError("invalid", "the body of the request was cut", { cause: thrown });
  }
  return Buffer.concat(pieces, length);
}
