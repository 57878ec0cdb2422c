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
