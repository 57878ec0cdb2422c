import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import type { DbProtocol } from "../../../../core/resources/db.ts";
import type { Presented } from "../../../../test/inside/front-user.ts";
import { allBytes, nextBytes } from "../../../../test/inside/stream-bytes.ts";
import type { FrontWorld } from "./front-world.ts";

/** All bytes until the end, as text; a dot stands for what is not printable. */
export async function restAsText(stream: Duplex): Promise<string> {
  return (await allBytes(stream)).toString("latin1").replace(/[^\x20-\x7e]/g, ".");
}

/** PostgreSQL's request for TLS. */
export const sslRequest = Buffer.from("0000000804d2162f", "hex");
/** PostgreSQL's first message, of the account `reader`. */
export const startup = Buffer.from("\0\0\0\x16\0\x03\0\0user\0reader\0\0", "latin1");

/** A client of PostgreSQL that has its TLS. */
export async function postgresClient(world: FrontWorld, presented?: Presented, port: "postgres" | "web" = "postgres"): Promise<TLSSocket> {
  const socket = await world.dial(port);
  socket.write(sslRequest);
  const answer = String(await nextBytes(socket));
  if (answer !== "S") throw new Error(`the request for TLS was answered with ${answer}`);
  return await world.tls(socket, presented);
}

/** MySQL's capability of TLS. */
export const sslFlag = 1 << 11;
/** `capabilities` of a client of MySQL 8, with query attributes that it was not offered. */
export const clientFlags = (0x19bfa285 & ~sslFlag) >>> 0;
/** Behind TLS its bit stays set. */
const loginFlags = (clientFlags | sslFlag) >>> 0;

export function mysqlPacket(sequence: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(4);
  header.writeUIntLE(payload.length, 0, 3);
  header[3] = sequence;
  return Buffer.concat([header, payload]);
}

/** The beginning of a login; alone it is the request for TLS. */
export function mysqlHead(flags: number): Buffer {
  const bytes = Buffer.alloc(32);
  bytes.writeUInt32LE(flags >>> 0, 0);
  bytes[8] = 45;
  return bytes;
}

/** A login of `reader` behind TLS. */
export function mysqlLogin(): Buffer {
  return mysqlPacket(2, Buffer.concat([mysqlHead(loginFlags), Buffer.from("reader\0\0caching_sha2_password\0", "latin1")]));
}

/** A client of MySQL that has its TLS, and the greeting that it got. */
export async function mysqlClient(world: FrontWorld, presented?: Presented): Promise<{ readonly tls: TLSSocket; readonly greeting: Buffer }> {
  const socket = await world.dial("mysql");
  const greeting = await nextBytes(socket);
  socket.write(mysqlPacket(1, mysqlHead(clientFlags | sslFlag)));
  return { tls: await world.tls(socket, presented), greeting };
}

function opMsg(command: object): Buffer {
  // Lazily: BSON of { name: int32 or string … }.
  const fields = Object.entries(command).map(([name, value]) =>
    typeof value === "number"
      ? Buffer.concat([Buffer.from(`\x10${name}\0`), i32(value)])
      : Buffer.concat([Buffer.from(`\x02${name}\0`), i32(String(value).length + 1), Buffer.from(`${value}\0`)]),
  );
  const body = Buffer.concat(fields);
  const document = Buffer.concat([i32(body.length + 5), body, Buffer.alloc(1)]);
  return Buffer.concat([i32(21 + document.length), i32(7), i32(0), i32(2013), Buffer.alloc(5), document]);
}

function i32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}

/** The refusal that a client reads after TLS and its first message. */
export async function refusalOf(world: FrontWorld, protocol: DbProtocol, presented: Presented | undefined): Promise<string> {
  switch (protocol) {
    case "postgres": {
      const tls = await postgresClient(world, presented);
      tls.write(startup);
      return await restAsText(tls);
    }
    case "mysql": {
      const { tls } = await mysqlClient(world, presented);
      tls.write(mysqlLogin());
      return await restAsText(tls);
    }
    case "mongodb": {
      const tls = await world.tls(await world.dial("mongodb"), presented);
      tls.write(opMsg({ ping: 1, $db: "admin" }));
      return await restAsText(tls);
    }
    case "redis": {
      const tls = await world.tls(await world.dial("redis"), presented);
      tls.write("*1\r\n$4\r\nPING\r\n");
      return await restAsText(tls);
    }
  }
}
