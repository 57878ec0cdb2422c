import type { Duplex } from "node:stream";
import { PlatformError } from "../../../core/errors/platform-error.ts";

export interface TakeOptions {
  /** Given all bytes so far: how many of them to take; undefined: not decided yet. What it throws ends the wait. */
  readonly enough: (bytes: Buffer) => number | undefined;
  readonly timeoutMs: number;
  /** Names the bytes in errors. */
  readonly what: string;
  readonly signal: AbortSignal;
}

/**
 * Takes bytes from the beginning of a stream and leaves the rest in it, paused. `enough` bounds what is held. Throws PlatformError `unavailable` (ended
 * early), `timeout`, and what `enough` throws.
 */
export function takeBytes(stream: Duplex, { enough, timeoutMs, what, signal }: TakeOptions): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  let held: Buffer = Buffer.alloc(0);
  const detach = (): void => {
    clearTimeout(timer);
    stream.off("readable", onReadable).off("end", onEnd).off("close", onEnd).off("error", onEnd);
    signal.removeEventListener("abort", onEnd);
  };
  const fail = (error: unknown): void => {
    detach();
    reject(error);
  };
  const onEnd = (): void => fail(new PlatformError("unavailable", `the connection ended before ${what}`));
  const timer = setTimeout(() => fail(new PlatformError("timeout", `${what} did not come within ${timeoutMs / 1000} s`)), timeoutMs);
  const onReadable = (): void => {
    try {
      for (let chunk = stream.read() as Buffer | null; chunk !== null; chunk = stream.read() as Buffer | null) {
        held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
        const length = enough(held);
        if (length === undefined || held.length < length) continue;
        detach();
        if (held.length > length) stream.unshift(held.subarray(length));
        return void resolve(held.subarray(0, length));
      }
    } catch (thrown) {
      fail(thrown);
    }
  };
  stream.on("readable", onReadable).on("end", onEnd).on("close", onEnd).on("error", onEnd);
  signal.addEventListener("abort", onEnd);
  if (signal.aborted || stream.destroyed || stream.readableEnded) onEnd();
  else onReadable();
  return promise;
}
