import { createHash } from "node:crypto";
import type { Duplex } from "node:stream";

/*
 * WebSocket (RFC 6455), as far as an echo needs it. A frame of a client:
 *
 *   bit 0 FIN | bits 4-7 opcode     u8
 *   bit 0 MASK | bits 1-7 length    u8, then u16 for 126 or u64 for 127
 *   mask                            4 bytes
 *   payload                         masked
 */

/** Longest payload of a frame, bytes. */
const maxPayload = 1024 * 1024;
const opcode = { close: 8, ping: 9, pong: 10 } as const;

/** The response that begins a WebSocket; undefined for a key that is not one. Pure. */
export function acceptWebSocket(key: string | undefined): string | undefined {
  if (key === undefined || !/^[A-Za-z0-9+/]{22}==$/.test(key)) return undefined;
  const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
  return `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`;
}

export interface Frame {
  readonly isFinal: boolean;
  readonly opcode: number;
  readonly payload: Buffer;
}

/** The first frame of a client's bytes, and how long it is; undefined: there is more to come. Throws for what is not one. Pure. */
export function decodeFrame(bytes: Buffer): { readonly frame: Frame; readonly length: number } | undefined {
  const [first, second] = bytes;
  if (first === undefined || second === undefined) return undefined;
  if ((first & 0x70) !== 0 || (second & 0x80) === 0) throw new Error("a client's frame is masked, and this server agrees to no extension");
  const short = second & 0x7f;
  const start = short < 126 ? 2 : short === 126 ? 4 : 10;
  if (bytes.length < start) return undefined;
  const size = short < 126 ? short : short === 126 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
  if (size > maxPayload) throw new Error("the frame is too long");
  if (bytes.length < start + 4 + size) return undefined;
  const mask = bytes.subarray(start, start + 4);
  const payload = Buffer.from(bytes.subarray(start + 4, start + 4 + size));
  for (const [index, byte] of payload.entries()) payload[index] = byte ^ (mask[index & 3] ?? 0);
  return { frame: { isFinal: (first & 0x80) !== 0, opcode: first & 0x0f, payload }, length: start + 4 + size };
}

/** A server's frame. Pure. */
export function encodeFrame({ isFinal, opcode: kind, payload }: Frame): Buffer {
  const { length } = payload;
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head[0] = (isFinal ? 0x80 : 0) | kind;
  head[1] = length < 126 ? length : length < 65_536 ? 126 : 127;
  if (head.length === 4) head.writeUInt16BE(length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, payload]);
}

/** Sends each message back, and answers pings, until the client closes. */
export function echoFrames(stream: Duplex): void {
  let held: Buffer = Buffer.alloc(0);
  const answer = (frame: Frame): void => {
    if (frame.opcode === opcode.pong) return;
    const isOpen = stream.write(encodeFrame(frame.opcode === opcode.ping ? { ...frame, opcode: opcode.pong } : frame));
    if (frame.opcode === opcode.close) stream.end();
    else if (!isOpen) stream.pause().once("drain", () => stream.resume());
  };
  stream.on("data", (chunk: Buffer) => {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    try {
      for (let found = decodeFrame(held); found !== undefined; found = decodeFrame(held)) {
        held = held.subarray(found.length);
        answer(found.frame);
      }
    } catch {
      stream.destroy();
    }
  });
  stream.on("end", () => stream.end());
}
