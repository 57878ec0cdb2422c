import type { ErrorCode, PlatformError } from "../../errors/platform-error.ts";
import { packet } from "./packet.ts";

/** An error in the protocol's words. */
export interface MysqlError {
  readonly code: number;
  /** SQLSTATE, five characters; empty in place of the greeting, where the client has not stated yet that it knows them. */
  readonly state: string;
  readonly message: string;
}

type Numbered = Omit<MysqlError, "message">;

const handshake: Numbered = { code: 1043, state: "08S01" };
const denied: Numbered = { code: 1045, state: "28000" };
const internal: Numbered = { code: 1105, state: "HY000" };

/** Why a login failed. Numbers of 2000 and more are the clients' own, and malformed when they come from a server. */
const atLogin: Readonly<Record<ErrorCode, Numbered>> = {
  invalid: handshake,
  unauthenticated: denied,
  denied,
  mfa_required: denied,
  not_found: denied,
  already_exists: internal,
  conflict: internal,
  limit: { code: 1040, state: "08004" },
  // "Unable to connect to foreign data source".
  unavailable: { code: 1429, state: "HY000" },
  timeout: handshake,
  unsupported: { code: 1251, state: "08004" },
  internal,
};

/** The reason of a refused login in the protocol's words. Pure. */
export function loginError({ code, message, hint }: PlatformError): MysqlError {
  return { ...atLogin[code], message: hint === undefined ? message : `${message} (${hint})` };
}

/** Longest message of an error, as servers and clients have it, bytes. */
const maxMessage = 512;

/** Error packet: `FF | code u16 | # state | message`. */
export function errorPacket(sequence: number, { code, state, message }: MysqlError): Buffer {
  const numbers = Buffer.of(0xff, code & 255, code >> 8);
  const text = Buffer.from(message.replace(/[\0\r\n]+/g, " ")).subarray(0, maxMessage);
  const clipped = Buffer.from(text.toString("utf8").replace(/\uFFFD+$/, ""));
  return packet(sequence, Buffer.concat([numbers, Buffer.from(state === "" ? "" : `#${state}`, "latin1"), clipped]));
}
