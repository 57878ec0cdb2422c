import type { Duplex } from "node:stream";
import { HeldBytes } from "../../../core/bytes/held-bytes.ts";
import { errorText, PlatformError, toPlatformError } from "../../../core/errors/platform-error.ts";

export interface ReadOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Names the peer and what is awaited, in errors. */
  readonly what: string;
}

export interface Parsed<Value> {
  readonly value: Value;
  /** Bytes that it took. */
  readonly length: number;
}

/**
 * Reads from a stream until `parse` finds something in the bytes that have come, and leaves the rest in the stream, which stays paused. `parse` bounds
 * what is held: it throws for too much. Throws what it throws, `unavailable` (ended early), `timeout`, and the reason of the signal.
 */
export function readUntil<Value>(stream: Duplex, parse: (bytes: Buffer) => Parsed<Value> | undefined, options: ReadOptions): Promise<Value> {
  const { timeoutMs, signal, what } = options;
  return new Promise((resolve, reject) => {
    const held = new HeldBytes();
    const finish = (settle: () => void): void => {
      clearTimeout(timer);
      stream.off("readable", onReadable).off("end", onEnd).off("close", onEnd).off("error", onError);
      signal.removeEventListener("abort", onAbort);
      settle();
    };
    const fail = (error: Error): void => finish(() => reject(error));
    const onEnd = (): void => fail(new PlatformError("unavailable", `the connection ended before ${what}`));
    const onError = (cause: Error): void =>
      fail(new PlatformError("unavailable", `the connection broke before ${what}: ${errorText(cause)}`, { cause }));
    const onAbort = (): void => fail(toPlatformError(signal.reason));
    const timer = setTimeout(() => fail(new PlatformError("timeout", `no ${what} within ${Math.round(timeoutMs / 1000)} s`)), timeoutMs);
    const onReadable = (): void => {
      for (let chunk = stream.read() as Buffer | null; chunk !== null; chunk = stream.read() as Buffer | null) {
        held.add(chunk);
        const { bytes } = held;
        let parsed: Parsed<Value> | undefined;
        try {
          parsed = parse(bytes);
        } catch (thrown) {
          stream.unshift(bytes);
          fail(toPlatformError(thrown));
          return;
        }
        if (parsed === undefined) continue;
        const { value, length } = parsed;
        finish(() => {
          if (length < bytes.length) stream.unshift(bytes.subarray(length));
          resolve(value);
        });
        return;
      }
    };
    stream.on("readable", onReadable).on("end", onEnd).on("close", onEnd).on("error", onError);
    signal.addEventListener("abort", onAbort);
    if (signal.aborted) onAbort();
    else if (stream.destroyed || stream.readableEnded) onEnd();
    else onReadable();
  });
}
