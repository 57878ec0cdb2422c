import "./hooks.ts";
import fc from "fast-check";
import crypto from "ssh2/lib/protocol/crypto.js";
import { expect, test } from "vitest";
import { fillPadding } from "./padding.ts";

test("padding fills its part of a packet and no more, with other bytes each time", () => {
  const packet = Buffer.alloc(300);
  const drawn = new Set<string>();
  for (let time = 0; time < 2_000; time += 1) {
    packet.fill(0);
    fillPadding(packet, 20, 19);
    drawn.add(packet.subarray(20, 39).toString("hex"));
    expect(packet.subarray(0, 20).equals(Buffer.alloc(20)) && packet.subarray(39).equals(Buffer.alloc(261))).toBe(true);
  }
  expect(drawn.size).toBe(2_000);
});

test("a packet of AES-GCM states its lengths, and is padded to whole blocks (RFC 4253 §6)", () => {
  const outbound = {
    cipherInfo: crypto.CIPHER_INFO["aes256-gcm@openssh.com"],
    cipherKey: Buffer.alloc(32),
    cipherIV: Buffer.alloc(12),
    seqno: 0,
    onWrite: () => {},
  };
  const cipher = crypto.createCipher({ outbound });
  const tagLength = crypto.bindingAvailable ? 16 : 0;
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 35_000 }), (payloadLength) => {
      const packet = cipher.allocPacket(payloadLength);
      const [length, padding] = [packet.readUInt32BE(0), packet[4] ?? 0];
      expect(length % 16).toBe(0);
      expect(padding).toBeGreaterThanOrEqual(4);
      expect(padding).toBeLessThan(20);
      expect([length, packet.length]).toEqual([1 + payloadLength + padding, 4 + length + tagLength]);
    }),
  );
});
