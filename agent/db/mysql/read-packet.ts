import type { Duplex } from "node:stream";
import { HeldBytes } from "../../../core/bytes/held-bytes.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";

export interface ReadPacketOptions {
  /** Longest payload in bytes; a longer one is refused before it is read. */
  readonly maxLength: number;
  /** The packet's number, which continues that of the other side. */
  readonly sequence: number;
  /** Names the packet in errors. */
  readonly what: string;
  readonly signal: AbortSignal;
}

/** Time for one packet of a login, ms. */
const packetMs = 10_000;

/**
 * Reads one packet of a login and leaves the rest in the stream, which stays paused. Resolves with its payload. Throws PlatformError `invalid` (too
 * long, out of order), `unavailable` (ended early), `timeout`, or the signal's reason.
 */
export function readPacket(stream: Duplex, options: ReadPacketOptions): Promise<Buffer> {
  const { what, signal } = options;
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const held = new HeldBytes();
  const onEnd = (): void => reject(new PlatformError("unavailable", `the connection ended before ${what}`));
  const onError = (cause: Error): void => reject(new PlatformError("unavailable", `the connection broke before ${what}`, { cause }));
  const onAbort = (): void => reject(signal.reason);
  const onLate = (): void => reject(new PlatformError("timeout", `${what} did not come within ${packetMs / 1000} s`));
  const onReadable = (): void => {
    try {
      for (let chunk = stream.read() as Buffer | null; chunk !== null; chunk = stream.read() as Buffer | null) {
        held.add(chunk);
        const { bytes } = held;
        const end = endOf(bytes, options);
        if (end === undefined || bytes.length < end) continue;
        stream.off("readable", onReadable);
        if (bytes.length > end) stream.unshift(bytes.subarray(end));
        resolve(bytes.subarray(4, end));
        return;
      }
    } catch (thrown) {
      reject(thrown);
    }
  };
  const timer = setTimeout(onLate, packetMs);
  stream.on("readable", onReadable).on("end", onEnd).on("close", onEnd).on("error", onError);
  signal.addEventListener("abort", onAbort);
  if (signal.aborted) onAbort();
  else if (stream.destroyed || stream.readableEnded) onEnd();
  else onReadable();
  return promise.finally(() => {
    clearTimeout(timer);
    stream.off("readable", onReadable).off("end", onEnd).off("close", onEnd).off("error", onError);
    signal.removeEventListener("abort", onAbort);
  });
}

/** End of the packet that begins the bytes; undefined: not known yet. */
function endOf(held: Buffer, { maxLength, sequence, what }: ReadPacketOptions): number | undefined {
  if (held.length < 4) return undefined;
  const length = held.readUIntLE(0, 3);
  if (length > maxLength) throw new PlatformError("invalid", `${what} has ${length} bytes; ${maxLength} are allowed`);
  if (held[3] !== (sequence & 255)) throw new PlatformError("invalid", `${what} is out of order: number ${held[3]} instead of ${sequence & 255}`);
  return 4 + length;
}
