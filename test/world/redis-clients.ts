import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { Redis } from "ioredis";
import { createClient } from "redis";
import { NotHere } from "./not-here.ts";
import { output } from "./program.ts";
import { sidPrograms } from "./sid-programs.ts";
import { type TlsFiles, tlsOf } from "./tls-files.ts";

/** How a client reaches Redis or Valkey. */
export interface RedisLogin {
  readonly port: number;
  /** Undefined: the certificate is enough. */
  readonly password: string | undefined;
  /** Of a port of the proxy; undefined: a local port, without TLS. */
  readonly tls?: TlsFiles;
}

const loopback = "127.0.0.1";
/** Debian packages its modules for this one. */
const python = "/usr/bin/python3";

/** Arguments of both command lines. */
export function loginArgs({ port, password, tls }: RedisLogin, user = "reader"): readonly string[] {
  const secure = tls === undefined ? [] : ["--tls", "--cacert", tls.ca, "--cert", tls.cert, "--key", tls.key];
  return ["-p", String(port), ...secure, "--no-auth-warning", ...(password === undefined ? [] : ["--user", user, "--pass", password])];
}

/** What a command line prints, without the end of its line. */
export async function redisCli(program: string, login: RedisLogin, ...args: readonly string[]): Promise<string> {
  return (await output(program, [...loginArgs(login), ...args])).trim();
}

export function ioredis({ port, password, tls }: RedisLogin): Redis {
  return new Redis({ host: loopback, port, ...account(password), ...(tls !== undefined && { tls: tlsOf(tls) }) });
}

/** npm's `redis`, which is connected, and speaks RESP3. */
export async function nodeRedis({ port, password, tls }: RedisLogin) {
  const socket = { host: loopback, port, ...(tls !== undefined && { tls: true as const, ...tlsOf(tls) }) };
  const client = createClient({ socket, RESP: 3, ...account(password) });
  await client.connect();
  return client;
}

function account(password: string | undefined) {
  return password === undefined ? {} : { username: "reader", password };
}

/** Runs redis_client.py: what it printed. Throws NotHere. */
export async function pythonRedis({ port, password }: RedisLogin): Promise<string> {
  if (!existsSync(python) || !existsSync("/usr/lib/python3/dist-packages/redis")) throw new NotHere("the client of Python needs python3-redis");
  const script = resolve(import.meta.dirname, "database-clients/redis_client.py");
  return await output(python, [script, String(port), ...(password === undefined ? [] : ["reader", password])]);
}

/** Each client: the account that it is at the server. Throws NotHere where the client is not here. */
export const redisClients: Readonly<Record<string, (login: RedisLogin) => Promise<string>>> = {
  "redis-cli 7": (login) => redisCli("redis-cli", login, "ACL", "WHOAMI"),
  "redis-cli 7 with RESP3": (login) => redisCli("redis-cli", login, "-3", "ACL", "WHOAMI"),
  "redis-cli 8 with RESP3": async (login) => await redisCli((await sidPrograms()).path("redis-cli"), login, "-3", "ACL", "WHOAMI"),
  "valkey-cli 9": async (login) => await redisCli((await sidPrograms()).path("valkey-cli"), login, "ACL", "WHOAMI"),
  ioredis: async (login) => {
    const client = ioredis(login);
    try {
      return String(await client.call("ACL", "WHOAMI"));
    } finally {
      client.disconnect();
    }
  },
  "node-redis with RESP3": async (login) => {
    const client = await nodeRedis(login);
    try {
      return await client.sendCommand<string>(["ACL", "WHOAMI"]);
    } finally {
      client.destroy();
    }
  },
};
