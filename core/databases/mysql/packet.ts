/** A packet of MySQL's protocol: `length u24le | sequence u8 | payload`. The payload is shorter than 16 MiB less one byte. */
export function packet(sequence: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(4);
  header.writeUIntLE(payload.length, 0, 3);
  header[3] = sequence & 255;
  return Buffer.concat([header, payload]);
}
