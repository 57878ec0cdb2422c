import type { Duplex } from "node:stream";
import { HeldBytes } from "../../../core/bytes/held-bytes.ts";
import { errorText, PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";

export interface MessageLimits {
  /** Longest message, bytes. */
  readonly maxBytes: number;
  readonly ms: number;
  readonly signal: AbortSignal;
  /** The other end, for messages: "the client". */
  readonly peer: string;
}

const shortest = 26;

/**
 * One whole message from a stream; what follows it stays in the stream. Undefined: the stream ended before the first byte. Throws `invalid`,
 * `timeout`, `unavailable`, or the reason of the signal.
 */
export async function readMessage(stream: Duplex, { maxBytes, ms, signal, peer }: MessageLimits): Promise<Buffer | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer | undefined>();
  const held = new HeldBytes();
  const fail = (code: "invalid" | "timeout" | "unavailable", why: string): void => reject(new PlatformError(code, why));
  const onData = (chunk: Buffer): void => {
    held.add(chunk);
    if (held.length < 16) return;
    const length = held.bytes.readInt32LE(0);
    if (length < shortest || length > maxBytes) fail("invalid", `${peer} sent a message of ${length} bytes`);
    else if (held.length >= length) complete(length);
  };
  const complete = (length: number): void => {
    stream.pause();
    stream.off("data", onData);
    const { bytes } = held;
    if (bytes.length > length) stream.unshift(bytes.subarray(length));
    resolve(bytes.subarray(0, length));
  };
  const onEnd = (): void => (held.length === 0 ? resolve(undefined) : fail("unavailable", `${peer} closed the connection`));
  const onError = (thrown: Error): void => fail("unavailable", `the connection to ${peer} broke: ${errorText(thrown)}`);
  const onAbort = (): void => reject(toPlatformError(signal.reason));
  const timer = setTimeout(() => fail("timeout", `${peer} sent nothing for ${ms / 1000} seconds`), ms);
  stream.on("data", onData).on("end", onEnd).on("close", onEnd).on("error", onError).resume();
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  else if (stream.destroyed || stream.readableEnded) onEnd();
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    stream.off("data", onData).off("end", onEnd).off("close", onEnd).off("error", onError);
    signal.removeEventListener("abort", onAbort);
    stream.pause();
  }
}
