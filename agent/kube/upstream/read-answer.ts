import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { UpstreamAnswer } from "../../http/exchange.ts";

/** All of an answer's body. Throws `limit` for a longer one, `unavailable` for one that was cut, and Node's errors. */
export async function readAnswer({ body, isBroken }: Pick<UpstreamAnswer, "body" | "isBroken">, maxBytes: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of body as AsyncIterable<Buffer>) {
    length += piece.length;
    if (length > maxBytes) throw new PlatformError("limit", `the API server's answer is larger than ${maxBytes} bytes`);
    pieces.push(piece);
  }
  if (isBroken()) throw new PlatformError("unavailable", "the API server's answer was cut");
  return Buffer.concat(pieces, length);
}
