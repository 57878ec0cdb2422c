import type { Capabilities } from "./capabilities.ts";

/** The first packet of a server. */
export interface Greeting {
  /** As the server writes it, with the `5.5.5-` of older MariaDB servers. */
  readonly version: string;
  readonly connectionId: number;
  /** Random bytes for the answer to a password: 20. */
  readonly salt: Buffer;
  readonly capabilities: Capabilities;
  readonly charset: number;
  readonly status: number;
  /** The server's first choice of how to log in. */
  readonly plugin: string;
}

/** Length of the salt in every greeting, bytes. */
export const saltLength = 20;

/**
 * Greeting, protocol 10: `10 | version 0 | connection u32 | salt 8 | 0 | capabilities u16 | charset u8 | status u16 | capabilities u16 |
 * salt length u8 | 0 × 6 | extended capabilities u32 (MariaDB) | rest of the salt 12 | 0 | plugin 0`. Pure.
 */
export function encodeGreeting(greeting: Greeting): Buffer {
  const { version, connectionId, salt, capabilities, charset, status, plugin } = greeting;
  const { flags, extended } = capabilities;
  const middle = Buffer.alloc(8);
  middle.writeUInt16LE(flags & 0xffff, 0);
  middle[2] = charset;
  middle.writeUInt16LE(status, 3);
  middle.writeUInt16LE(flags >>> 16, 5);
  middle[7] = saltLength + 1;
  const zero = Buffer.alloc(1);
  const names = [Buffer.from(`\n${version}\0`, "latin1"), u32(connectionId), salt.subarray(0, 8), zero, middle, Buffer.alloc(6), u32(extended)];
  return Buffer.concat([...names, salt.subarray(8, saltLength), zero, Buffer.from(`${plugin}\0`, "latin1")]);
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value >>> 0);
  return bytes;
}
