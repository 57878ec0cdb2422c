import { randomBytes } from "node:crypto";
import type { Socket } from "node:net";
import { type Capabilities, capability } from "../../../core/databases/mysql/capabilities.ts";
import { encodeGreeting } from "../../../core/databases/mysql/greeting.ts";
import { packet } from "../../../core/databases/mysql/packet.ts";
import type { EngineSession } from "../engine.ts";
import { negotiate, offeredFor } from "./capabilities.ts";
import { fetchGreeting } from "./fetch-greeting.ts";
import type { KnownGreeting, KnownGreetings } from "./known-greetings.ts";
import { type LoginPacket, maxLogin, parseLogin } from "./login-packet.ts";
import { readPacket } from "./read-packet.ts";

/** A session that may reach the server before the user has logged in. */
export interface MysqlSession extends EngineSession {
  /** A TCP connection to the server for what it states to everybody; undefined: the greeting of an unknown server is a guess. */
  readonly reach?: () => Promise<Socket>;
}

export interface GreetOptions {
  readonly greetings: KnownGreetings;
  /** Under which the server's greeting is known. */
  readonly key: string;
  /** Number of the client's connection. */
  readonly connectionId: number;
}

/** What servers of MySQL 8 and MariaDB 10.3 have in common: bits that a session may use whatever the server. */
const everywhere: Capabilities = {
  flags:
    // Found rows, long columns, spaces, interactive, transactions.
    capability.mysql |
    (1 << 1) |
    (1 << 2) |
    (1 << 8) |
    (1 << 10) |
    (1 << 13) |
    // Several statements and results, changes of the session.
    ((1 << 16) | (1 << 17) | (1 << 18) | (1 << 23)) |
    capability.deprecateEof,
  extended: 0,
};
const autocommit = 2;
/** In place of an unknown greeting. */
const guessed: KnownGreeting = { version: "8.4.0", capabilities: everywhere, charset: 255, status: autocommit };

/** Every client knows this plugin, and accepts an OK as the answer to any password. */
const plugin = "caching_sha2_password";

/**
 * Greets a client in the name of its server, and reads its login; the capabilities of the result are those of the session. Throws PlatformError, or
 * the signal's reason.
 */
export async function greetClient(session: MysqlSession, { greetings, key, connectionId }: GreetOptions): Promise<LoginPacket> {
  const { client, signal, reach } = session;
  const known = reach === undefined ? undefined : await greetings.get(key, async () => await fetchGreeting(reach));
  const { version, capabilities, charset, status } = known ?? guessed;
  const offered = offeredFor(capabilities);
  client.write(packet(0, encodeGreeting({ version, connectionId, salt: newSalt(), capabilities: offered, charset, status, plugin })));
  const payload = await readPacket(client, { maxLength: maxLogin, sequence: 1, what: "the client's login", signal });
  const login = parseLogin(payload);
  return { ...login, capabilities: negotiate(login.capabilities, offered) };
}

/** 20 bytes, none of them zero. */
function newSalt(): Buffer {
  return Buffer.from(randomBytes(20).map((byte) => (byte % 127) + 1));
}
