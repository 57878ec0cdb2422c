import type { Duplex } from "node:stream";
import { HeldBytes } from "../bytes/held-bytes.ts";
import { PlatformError } from "../errors/platform-error.ts";

export interface TakeOptions {
  /** Given all bytes so far: how many of them to take; undefined: not decided yet. What it throws ends the wait. */
  readonly enough: (bytes: Buffer) => number | undefined;
  readonly timeoutMs: number;
  /** Names the bytes in errors. */
  readonly what: string;
  readonly signal: AbortSignal;
}

/**
 * Takes bytes from the beginning of a stream and leaves the rest in it, paused. It holds no more than one chunk beyond what `enough` asks for. Throws
 * PlatformError `unavailable` (ended early), `timeout`, the reason of the signal, and what `enough` throws.
 */
export function takeBytes(stream: Duplex, options: TakeOptions): Promise<Buffer> {
  const { enough, timeoutMs, what, signal } = options;
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const held = new HeldBytes();
  // At once: the bytes that go back into the stream are announced again before a promise's reactions run.
  const detach = (): void => {
    clearTimeout(timer);
    stream.off("readable", onReadable).off("end", onEnd).off("close", onEnd).off("error", onError);
    signal.removeEventListener("abort", onAbort);
  };
  const fail = (error: unknown): void => {
    detach();
    reject(error);
  };
  const onEnd = (): void => fail(new PlatformError("unavailable", `the connection ended before ${what}`));
  const onError = (cause: Error): void => fail(new PlatformError("unavailable", `the connection broke before ${what}`, { cause }));
  const onAbort = (): void => fail(reasonOf(signal, what));
  const seconds = Math.round(timeoutMs / 1000);
  const timer = setTimeout(() => fail(new PlatformError("timeout", `timed out after ${seconds} s waiting for ${what}`)), timeoutMs);
  const onReadable = (): void => {
    try {
      for (let chunk = stream.read() as Buffer | null; chunk !== null; chunk = stream.read() as Buffer | null) {
        held.add(chunk);
        const { bytes } = held;
        const length = enough(bytes);
        if (length === undefined || bytes.length < length) continue;
        detach();
        if (bytes.length > length) stream.unshift(bytes.subarray(length));
        return void resolve(bytes.subarray(0, length));
      }
    } catch (thrown) {
      fail(thrown);
    }
  };
  stream.on("readable", onReadable).on("end", onEnd).on("close", onEnd).on("error", onError);
  signal.addEventListener("abort", onAbort);
  if (signal.aborted) onAbort();
  else if (stream.destroyed || stream.readableEnded) onEnd();
  else onReadable();
  return promise;
}

function reasonOf({ reason }: AbortSignal, what: string): PlatformError {
  return reason instanceof PlatformError ? reason : new PlatformError("unavailable", `the wait for ${what} was stopped`, { cause: reason });
}
