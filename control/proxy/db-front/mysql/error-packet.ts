import type { ErrorCode, PlatformError } from "../../../../core/errors/platform-error.ts";
import { packet } from "./packet.ts";

interface MysqlCode {
  readonly number: number;
  readonly state: string;
}

const denied: MysqlCode = { number: 1045, state: "28000" };
const handshake: MysqlCode = { number: 1043, state: "08S01" };
/** Numbers of 2000 and more are the clients' own, and not expected from a server. */
const other: MysqlCode = { number: 1429, state: "HY000" };
const codes: Partial<Record<ErrorCode, MysqlCode>> = {
  denied,
  unauthenticated: denied,
  not_found: denied,
  invalid: handshake,
  timeout: handshake,
  limit: { number: 1040, state: "08004" },
  unsupported: { number: 1251, state: "08004" },
  internal: { number: 1105, state: "HY000" },
};
/** As of a server with require_secure_transport. */
export const withoutTls: MysqlCode = { number: 3159, state: "HY000" };

/** Longest message that clients keep, bytes. */
const maxMessage = 512;

/** Error packet: `FF | number u16le | # state | message`. */
export function errorPacket(sequence: number, { code, message, hint }: PlatformError, { number, state } = codes[code] ?? other): Buffer {
  const text = (hint === undefined ? message : `${message} (${hint})`).replace(/[\0\r\n]+/g, " ");
  const clipped = Buffer.from(text)
    .subarray(0, maxMessage)
    .toString("utf8")
    .replace(/\uFFFD+$/, "");
  return packet(sequence, Buffer.concat([Buffer.of(0xff, number & 255, number >> 8), Buffer.from(`#${state}${clipped}`)]));
}
