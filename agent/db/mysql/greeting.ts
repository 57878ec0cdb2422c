import { Reader } from "../../../core/bytes/fields.ts";
import { capability } from "../../../core/databases/mysql/capabilities.ts";
import { type Greeting, saltLength } from "../../../core/databases/mysql/greeting.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { has } from "./capabilities.ts";
import { u16, u32, zeroTerminated } from "./wire.ts";

/** Longest greeting that is read, bytes. */
export const maxGreeting = 4_096;

/** Longest names of a version and of a plugin. */
const maxName = 128;

/**
 * Greeting, protocol 10: `10 | version 0 | connection u32 | salt 8 | 0 | capabilities u16 | charset u8 | status u16 | capabilities u16 |
 * salt length u8 | 0 × 6 | extended capabilities u32 (MariaDB) | rest of the salt, at least 13 | plugin 0`. Throws PlatformError `invalid`.
 */
export function parseGreeting(payload: Buffer): Greeting {
  const reader = new Reader(payload);
  const protocol = reader.u8();
  if (protocol !== 10) throw new PlatformError("invalid", `the server's greeting has version ${protocol} of the protocol; only 10 is supported`);
  const version = name(reader);
  const connectionId = u32(reader);
  const start = reader.take(8);
  reader.u8();
  const low = u16(reader);
  const charset = reader.u8();
  const status = u16(reader);
  const flags = low + u16(reader) * 0x1_0000;
  const length = reader.u8();
  reader.take(6);
  const extended = u32(reader);
  const salt = Buffer.concat([start, reader.take(Math.max(13, length - 8)).subarray(0, saltLength - 8)]);
  const capabilities = { flags, extended: (flags & capability.mysql) === 0 ? extended : 0 };
  const plugin = has(capabilities, capability.pluginAuth) ? name(reader) : "mysql_native_password";
  return { version, connectionId, salt, capabilities, charset, status, plugin };
}

function name(reader: Reader): string {
  const text = zeroTerminated(reader).toString("latin1");
  if (text.length <= maxName && /^[\x20-\x7e]*$/.test(text)) return text;
  throw new PlatformError("invalid", "the server's greeting has a name that is too long or unprintable");
}
