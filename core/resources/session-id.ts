import { createHash } from "node:crypto";

/**
 * The id of a session: the first of a connection has the connection's; each later one has a UUID of version 8 that agent and proxy compute alike
 * (RFC 9562). `place`: how many sessions of the connection were accepted before it.
 */
export function sessionIdOf(connection: string, place: number): string {
  if (place === 0) return connection;
  const hash = createHash("sha256").update(`${connection}/${place}`).digest();
  hash.writeUInt8(((hash[6] ?? 0) & 0x0f) | 0x80, 6);
  hash.writeUInt8(((hash[8] ?? 0) & 0x3f) | 0x80, 8);
  const hex = hash.toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join("-");
}
