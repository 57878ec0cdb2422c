import { randomBytes, randomInt } from "node:crypto";
import { PlatformError } from "../../../../core/errors/platform-error.ts";

/** Bits of capabilities that this port must know; the names are those of the protocol, without `CLIENT_`. */
export const capability = {
  mysql: 1,
  connectWithDb: 1 << 3,
  protocol41: 1 << 9,
  ssl: 1 << 11,
  secureConnection: 1 << 15,
  pluginAuth: 1 << 19,
  connectAttributes: 1 << 20,
  lenencAuth: 1 << 21,
  deprecateEof: 1 << 24,
} as const;

/** Bits that only say how the login packet is laid out. */
export const ofLogin =
  capability.connectWithDb |
  capability.protocol41 |
  capability.secureConnection |
  capability.pluginAuth |
  capability.connectAttributes |
  capability.lenencAuth;

/**
 * What a client is offered before its server is known: bits that every server since MySQL 5.7 and MariaDB 10.3 has (found rows, long columns, spaces,
 * interactive, transactions, several statements and results, changes of the session, OK in place of EOF).
 */
export const offered =
  (capability.mysql |
    (1 << 1) |
    (1 << 2) |
    (1 << 8) |
    (1 << 10) |
    (1 << 13) |
    (1 << 16) |
    (1 << 17) |
    (1 << 18) |
    (1 << 23) |
    capability.deprecateEof |
    ofLogin) >>>
  0;

/** utf8mb4_general_ci, which MySQL and MariaDB know under the same number. */
const charset = 45;
const autocommit = 2;
/** Every client knows it, and takes an OK as the answer to any password. */
const plugin = "caching_sha2_password";
const saltLength = 20;
/** Numbers of connections from here on are none of a server's own. */
const lowestConnection = 2 ** 31;

export function newConnectionId(): number {
  return lowestConnection + randomInt(2 ** 31);
}

/**
 * Greeting, protocol 10: `10 | version 0 | connection u32le | salt 8 | 0 | capabilities u16le | charset u8 | status u16le | capabilities u16le |
 * salt length u8 | 0 × 10 | salt 12 | 0 | plugin 0`.
 */
export function encodeGreeting(version: string, connectionId: number): Buffer {
  const salt = Buffer.from(randomBytes(saltLength).map((byte) => (byte % 127) + 1));
  const flags = (offered | capability.ssl) >>> 0;
  const numbers = Buffer.alloc(4);
  numbers.writeUInt32LE(connectionId);
  const middle = Buffer.alloc(8 + 10);
  middle.writeUInt16LE(flags & 0xffff, 0);
  middle[2] = charset;
  middle.writeUInt16LE(autocommit, 3);
  middle.writeUInt16LE(flags >>> 16, 5);
  middle[7] = saltLength + 1;
  const zero = Buffer.alloc(1);
  const head = [Buffer.from(`\n${version}\0`, "latin1"), numbers, salt.subarray(0, 8), zero, middle];
  return Buffer.concat([...head, salt.subarray(8), zero, Buffer.from(`${plugin}\0`)]);
}

/** The capabilities in such a greeting. Throws `invalid`. Pure. */
export function greetedCapabilities(payload: Buffer): number {
  const end = payload.indexOf(0, 1);
  if (payload[0] !== 10 || end < 0 || payload.length < end + 21) throw new PlatformError("invalid", "the agent did not begin with MySQL's greeting");
  return (payload.readUInt16LE(end + 14) | (payload.readUInt16LE(end + 19) << 16)) >>> 0;
}
