import type { Duplex } from "node:stream";
import { takeBytes } from "../../../../core/databases/take-bytes.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";

export interface PacketWanted {
  readonly sequence: number;
  /** Of the payload, bytes. */
  readonly maxLength: number;
  readonly timeoutMs: number;
  /** Names the packet in errors. */
  readonly what: string;
  readonly signal: AbortSignal;
}

/** The payload of the next packet; the rest stays in the stream. Throws `invalid` (too long, out of order), `unavailable`, `timeout`. */
export async function takePacket(stream: Duplex, { sequence, maxLength, ...wait }: PacketWanted): Promise<Buffer> {
  const enough = (bytes: Buffer): number | undefined => {
    if (bytes.length < 4) return undefined;
    const length = bytes.readUIntLE(0, 3);
    if (length > maxLength) throw new PlatformError("invalid", `${wait.what} has ${length} bytes; ${maxLength} are allowed`);
    if (bytes[3] !== sequence) throw new PlatformError("invalid", `${wait.what} is out of order: number ${bytes[3]} instead of ${sequence}`);
    return 4 + length;
  };
  return (await takeBytes(stream, { ...wait, enough })).subarray(4);
}
