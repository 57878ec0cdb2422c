import { capability, ofLogin } from "../../../../core/databases/mysql/capabilities.ts";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import { offered } from "./greeting.ts";

/** `capabilities u32le | maximum packet u32le | charset u8 | 0 × 19 | extended capabilities u32le (MariaDB)`: the request for TLS, and the head of a login. */
export const headLength = 32;
const extendedAt = 28;

/** Whether the client asks for TLS now. Throws `invalid`, and `unsupported` for the protocol before 4.1. Pure. */
export function asksForTls(payload: Buffer): boolean {
  const isTls = (flagsOf(payload) & capability.ssl) !== 0;
  if (isTls && payload.length !== headLength) throw new PlatformError("invalid", "the client's request for TLS is too long");
  return isTls;
}

function flagsOf(payload: Buffer): number {
  if (payload.length < headLength) throw new PlatformError("invalid", "the client's packet is too short for a login");
  const flags = payload.readUInt32LE(0);
  if ((flags & capability.protocol41) === 0) throw new PlatformError("unsupported", "the client is older than version 4.1 of the protocol");
  return flags;
}

/**
 * A client's login in the form for an agent whose greeting has the capabilities `agent`: without the bit of TLS, which clients leave set, and with the
 * capabilities that both greetings offered. A client may set bits that it was not offered; it does not use them. Throws `unavailable` if the client may use a
 * capability that the agent's server lacks. Pure.
 */
export function loginForAgent(payload: Buffer, agent: number): Buffer {
  const used = (flagsOf(payload) & offered) >>> 0;
  if ((used & ~agent & ~ofLogin & ~capability.mysql) !== 0) {
    throw new PlatformError("unavailable", "the database's server is too old for this port", { hint: "use: tsh proxy db" });
  }
  const login = Buffer.from(payload);
  login.writeUInt32LE((used | capability.mysql) >>> 0, 0);
  login.writeUInt32LE(0, extendedAt);
  return login;
}
