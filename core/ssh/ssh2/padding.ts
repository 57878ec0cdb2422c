import { randomFillSync } from "node:crypto";
import crypto from "ssh2/lib/protocol/crypto.js";

/** Random bytes that were drawn and not used yet, from `used` on. */
const pool = Buffer.alloc(8192);
let used = pool.length;

/** Puts random bytes into a part of a packet. None is used twice. `length`: at most 255. */
export function fillPadding(packet: Buffer, start: number, length: number): void {
  if (length > pool.length - used) {
    randomFillSync(pool);
    used = 0;
  }
  for (let at = 0; at < length; at += 1) packet[start + at] = pool[used + at] ?? 0;
  used += length;
}

const cipher = "aes128-gcm@openssh.com";
const blockLength = 16;
const least = 4;

/**
 * Draws the padding of many packets at once where the cipher is AES-GCM. ssh2 draws it for each packet, at up to an eighth of the processor time of an
 * agent that sends in small packets.
 *
 *   u32 length of what follows, but for the tag | u8 length of the padding | payload | padding | tag
 */
export function poolPadding(): void {
  // The classes are not exported: they are found from a sample.
  const outbound = { cipherInfo: crypto.CIPHER_INFO[cipher], cipherKey: Buffer.alloc(16), cipherIV: Buffer.alloc(12), seqno: 0, onWrite: () => {} };
  const sample = crypto.createCipher({ outbound });
  sample.free();
  // The addon encrypts in place and adds the tag there.
  const tagLength = crypto.bindingAvailable ? 16 : 0;
  Object.getPrototypeOf(sample).allocPacket = function alloc(payloadLength: number): Buffer {
    const rest = blockLength - ((1 + payloadLength) % blockLength);
    const padding = rest < least ? rest + blockLength : rest;
    const length = 1 + payloadLength + padding;
    const packet = Buffer.allocUnsafe(4 + length + tagLength);
    packet.writeUInt32BE(length, 0);
    packet[4] = padding;
    fillPadding(packet, 5 + payloadLength, padding);
    return packet;
  };
}
