import type { Socket } from "node:net";
import { capability } from "../../../../core/databases/mysql/capabilities.ts";
import { packet } from "../../../../core/databases/mysql/packet.ts";
import { encodeLogin, type LoginPacket } from "../login-packet.ts";
import { readPacket } from "../read-packet.ts";

/** Packets as clients send them, and the reading of what either side sends. */

const never = new AbortController().signal;

/** Capabilities that every client has. */
export const clientFlags =
  capability.mysql |
  capability.protocol41 |
  capability.secureConnection |
  capability.pluginAuth |
  capability.lenencAuth |
  capability.connectAttributes;

export const login: LoginPacket = {
  capabilities: {
    flags: clientFlags | capability.deprecateEof | capability.queryAttributes | capability.localFiles | capability.compress,
    extended: 0,
  },
  maxPacket: 1 << 24,
  charset: 45,
  user: "alice",
  schema: "",
  attributes: Buffer.alloc(0),
  awaitsWord: false,
};

/** The content of the next packet. */
export async function read(socket: Socket, sequence: number): Promise<Buffer> {
  return await readPacket(socket, { maxLength: 1 << 20, sequence, what: "it", signal: never });
}

export function query(sql: string): Buffer {
  return packet(0, Buffer.from(`\u0003${sql}`));
}

/** Logs in and resolves with the answer. */
export async function logIn(near: Socket, changes: Partial<LoginPacket> = {}): Promise<Buffer> {
  await read(near, 0);
  near.write(packet(1, encodeLogin({ ...login, ...changes }, "caching_sha2_password")));
  return await read(near, 2);
}
