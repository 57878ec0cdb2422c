import { once } from "node:events";
import type { Duplex } from "node:stream";
import { u32 } from "../../../core/bytes/fields.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { StreamRequest } from "../../../core/transport/stream-request.ts";
import { connectionThreads, type ThreadNumbers } from "./thread-numbers.ts";

export interface ThreadStreamDeps {
  /** Default: those of all sessions of this process. */
  readonly threads?: ThreadNumbers;
  /** Whether one more request may be looked at now. */
  readonly admit: () => boolean;
}

/**
 * Answers a proxy that asks for the server's id of a connection, given the id in its client's greeting: four bytes, or none if this process does not know it. The
 * server itself decides who may kill it. Throws `invalid` for a malformed id.
 */
export async function serveThreadStream(stream: Duplex, { target, parameters }: StreamRequest<"cancel">, deps: ThreadStreamDeps): Promise<void> {
  if (!/^[0-9a-f]{8}$/.test(parameters.key)) throw new PlatformError("invalid", "the connection id is malformed");
  const thread = deps.admit() ? (deps.threads ?? connectionThreads).threadAt(Number.parseInt(parameters.key, 16), target) : undefined;
  if (thread === undefined) return void stream.destroy();
  const closed = once(stream, "close");
  stream
    .on("error", () => {})
    .resume()
    .end(u32(thread));
  await closed.catch(() => {});
}
