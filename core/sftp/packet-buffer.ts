import { PlatformError } from "../errors/platform-error.ts";
import { maxPacket } from "./numbers.ts";

/** Minimum free room for one read. */
const leastRoom = 64 * 1024;
const capacity = 2 * (maxPacket + 4);

/** Cuts a stream into packets (u32 length, then that many bytes). Memory is fixed: a packet is a view until the next `room`. */
export class PacketBuffer {
  readonly #bytes = Buffer.allocUnsafe(capacity);
  #start = 0;
  #end = 0;

  /** Buffer for the next bytes; call `filled` after reading into it. Take all packets out first: only then is room guaranteed. */
  room(): Buffer {
    if (this.#start === this.#end) {
      this.#start = 0;
      this.#end = 0;
    } else if (capacity - this.#end < leastRoom) {
      this.#bytes.copyWithin(0, this.#start, this.#end);
      this.#end -= this.#start;
      this.#start = 0;
    }
    return this.#bytes.subarray(this.#end);
  }

  filled(count: number): void {
    this.#end += count;
  }

  /** The next whole packet without its length. Throws `invalid` for an impossible length. */
  next(): Buffer | undefined {
    const held = this.#end - this.#start;
    if (held < 4) return undefined;
    const length = this.#bytes.readUInt32BE(this.#start);
    if (length === 0 || length > maxPacket) throw new PlatformError("invalid", `an SFTP packet of ${length} bytes; 1 to ${maxPacket} are allowed`);
    if (held < 4 + length) return undefined;
    const packet = this.#bytes.subarray(this.#start + 4, this.#start + 4 + length);
    this.#start += 4 + length;
    return packet;
  }

  /** Whether bytes of an unfinished packet are held. */
  get isWithinPacket(): boolean {
    return this.#end > this.#start;
  }
}

/** A packet with its length in front. */
export function framed(parts: readonly Buffer[]): Buffer {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const header = Buffer.allocUnsafe(4);
  header.writeUInt32BE(length);
  return Buffer.concat([header, ...parts], length + 4);
}
