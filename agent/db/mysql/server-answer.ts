import { Reader } from "../../../core/bytes/fields.ts";
import type { MysqlError } from "../../../core/databases/mysql/error-packet.ts";
import { packet } from "../../../core/databases/mysql/packet.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { lenenc, u16, zeroTerminated } from "./wire.ts";

/** Longest message of an error, as the server has it, bytes. */
const maxMessage = 512;

/** Throws PlatformError `invalid`. */
export function parseError(payload: Buffer): MysqlError {
  const reader = new Reader(payload);
  reader.u8();
  const code = u16(reader);
  const hasState = payload[reader.position] === 0x23;
  const state = hasState
    ? reader
        .take(6)
        .toString("latin1")
        .slice(1)
        .replace(/[^0-9A-Z]/g, "0")
    : "HY000";
  return { code, state, message: shown(reader.take(reader.remaining)) };
}

function shown(bytes: Buffer): string {
  return bytes
    .subarray(0, maxMessage)
    .toString("utf8")
    .replace(/[\p{Cc}\uFFFD]+/gu, " ")
    .trim();
}

/** The message that an answer to the salt was right: `01 | 03`; the OK follows. */
export function rightAnswer(sequence: number): Buffer {
  return packet(sequence, Buffer.of(1, 3));
}

/** OK packet: `00 | rows lenenc | id lenenc | status u16 | warnings u16`. */
export function okPacket(sequence: number, status: number): Buffer {
  return packet(sequence, Buffer.of(0, 0, 0, status & 255, status >> 8, 0, 0));
}

/** Status flags of an OK packet, also of one with the header FE. Throws PlatformError `invalid`. */
export function okStatus(payload: Buffer): number {
  const reader = new Reader(payload);
  reader.u8();
  lenenc(reader);
  lenenc(reader);
  return u16(reader);
}

/** Number of rows written, of an OK packet. Throws PlatformError `invalid`. */
export function okWritten(payload: Buffer): number {
  const reader = new Reader(payload);
  reader.u8();
  return lenenc(reader);
}

/** The plugin to which a server switches: `FE | plugin 0 | salt`. Throws PlatformError `invalid`. */
export function parseAuthSwitch(payload: Buffer): string {
  const reader = new Reader(payload);
  reader.u8();
  const plugin = zeroTerminated(reader).toString("latin1");
  if (/^[\w-]{1,64}$/.test(plugin)) return plugin;
  throw new PlatformError("invalid", "the server's request for another login plugin has no valid name");
}
