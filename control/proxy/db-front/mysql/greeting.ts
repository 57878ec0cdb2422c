import { randomBytes, randomInt } from "node:crypto";
import { capability, ofLogin } from "../../../../core/databases/mysql/capabilities.ts";
import { encodeGreeting, saltLength } from "../../../../core/databases/mysql/greeting.ts";
import { givenNumbers, lowestGiven } from "../../../../core/databases/mysql/kill-target.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";

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
/** Every client knows this plugin, and accepts an OK as the answer to any password. */
const plugin = "caching_sha2_password";

export function newConnectionId(): number {
  return lowestGiven + randomInt(givenNumbers);
}

/** The greeting for a client whose server is not known yet. */
export function earlyGreeting(version: string, connectionId: number): Buffer {
  const salt = Buffer.from(randomBytes(saltLength).map((byte) => (byte % 127) + 1));
  const capabilities = { flags: (offered | capability.ssl) >>> 0, extended: 0 };
  return encodeGreeting({ version, connectionId, salt, capabilities, charset, status: autocommit, plugin });
}

/** The capabilities in such a greeting. Throws `invalid`. Pure. */
export function greetedCapabilities(payload: Buffer): number {
  const end = payload.indexOf(0, 1);
  if (payload[0] !== 10 || end < 0 || payload.length < end + 21) throw new PlatformError("invalid", "the agent did not begin with MySQL's greeting");
  return (payload.readUInt16LE(end + 14) | (payload.readUInt16LE(end + 19) << 16)) >>> 0;
}
