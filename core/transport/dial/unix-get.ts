import { once } from "node:events";
import { connect } from "node:net";
import { ignoreError } from "./attempt.ts";
import { getOver, type HttpAnswer } from "./get-over.ts";

export interface UnixGetOptions {
  /** For the connection and the answer, ms. */
  readonly timeoutMs: number;
  /** Maximum body. */
  readonly maxBytes: number;
}

/** One GET over a Unix socket. Throws what `getOver` throws, and Node's error of a socket that cannot be connected to. */
export async function unixGet(socketPath: string, path: string, { timeoutMs, maxBytes }: UnixGetOptions): Promise<HttpAnswer> {
  const signal = AbortSignal.timeout(timeoutMs);
  const socket = connect({ path: socketPath }).on("error", ignoreError);
  try {
    await once(socket, "connect", { signal });
    return await getOver(socket, { host: "localhost", path, maxBytes, signal });
  } finally {
    socket.destroy();
  }
}
