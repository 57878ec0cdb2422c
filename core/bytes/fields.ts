import { PlatformError } from "../errors/platform-error.ts";

/**
 * Reads big-endian integers and length-prefixed strings (RFC 4251 section 5) from a buffer.
 * Every method throws PlatformError `invalid` where the bytes end too early; no length is trusted before it is checked.
 */
export class Reader {
  readonly bytes: Buffer;
  position = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  get remaining(): number {
    return this.bytes.length - this.position;
  }

  get done(): boolean {
    return this.position === this.bytes.length;
  }

  u8(): number {
    this.#need(1);
    const value = this.bytes.readUInt8(this.position);
    this.position += 1;
    return value;
  }

  u32(): number {
    this.#need(4);
    const value = this.bytes.readUInt32BE(this.position);
    this.position += 4;
    return value;
  }

  u64(): bigint {
    this.#need(8);
    const value = this.bytes.readBigUInt64BE(this.position);
    this.position += 8;
    return value;
  }

  take(length: number): Buffer {
    this.#need(length);
    const value = this.bytes.subarray(this.position, this.position + length);
    this.position += length;
    return value;
  }

  /** u32 length, then that many bytes: a view, not a copy. */
  string(): Buffer {
    return this.take(this.u32());
  }

  /** The same as `string`, as UTF-8; other bytes are refused. */
  text(): string {
    const bytes = this.string();
    try {
      return utf8.decode(bytes);
    } catch (cause) {
      throw new PlatformError("invalid", `text at byte ${this.position - bytes.length} is not UTF-8`, { cause });
    }
  }

  /** Throws if unread bytes are left. */
  end(what: string): void {
    if (!this.done) throw new PlatformError("invalid", `${what}: ${this.remaining} unexpected bytes at the end`);
  }

  #need(length: number): void {
    if (length > this.remaining) {
      throw new PlatformError("invalid", `truncated: ${length} bytes expected at byte ${this.position}, ${this.remaining} left`);
    }
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Big-endian integers and length-prefixed strings (RFC 4251 section 5), as small buffers to concatenate. */
export function u8(value: number): Buffer {
  return Buffer.of(value);
}

export function u32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

export function u64(value: bigint | number): Buffer {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes;
}

/** u32 length, then the bytes; text is written as UTF-8. */
export function string(value: Buffer | string): Buffer {
  const bytes = typeof value === "string" ? Buffer.from(value, "utf8") : value;
  return Buffer.concat([u32(bytes.length), bytes]);
}
