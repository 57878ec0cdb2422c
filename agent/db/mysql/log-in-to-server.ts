import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { capability } from "../../../core/databases/mysql/capabilities.ts";
import type { MysqlError } from "../../../core/databases/mysql/error-packet.ts";
import type { Greeting } from "../../../core/databases/mysql/greeting.ts";
import { packet } from "../../../core/databases/mysql/packet.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { ServerAccess } from "../engine.ts";
import { lacking } from "./capabilities.ts";
import { leaveServer, readGreeting, requireTls } from "./fetch-greeting.ts";
import { encodeLogin, encodeTlsRequest, type LoginPacket } from "./login-packet.ts";
import { readPacket } from "./read-packet.ts";
import { okStatus, parseAuthSwitch, parseError } from "./server-answer.ts";

export interface ServerLogin {
  readonly access: ServerAccess;
  /** With the capabilities of the session, as they were negotiated with the client. */
  readonly login: LoginPacket;
  readonly signal: AbortSignal;
  /** Called as soon as the server has greeted. */
  readonly onGreeting: (greeting: Greeting) => void;
}

/** A server that waits for commands, or the error with which it refused. */
export type ServerLoginResult = { readonly socket: TLSSocket; readonly status: number } | { readonly refusal: MysqlError };

/** Longest packet of a server in a login. */
const maxAnswer = 16_384;
/** Time for leaving an unsuitable server, ms. */
const leaveMs = 4_000;
/** Maximum number of packets of a server in a login, after its greeting. */
const maxRounds = 8;

/**
 * Logs in to the server over TLS by certificate alone: empty answers to whatever plugin asks for a password. An unsuitable server, with a wrong certificate for
 * instance, sees a whole login that it refuses: after `max_connect_errors` broken ones it would block this host. Throws PlatformError `unavailable`, `invalid`,
 * `timeout`, or the signal's reason.
 */
export async function logInToServer(asked: ServerLogin): Promise<ServerLoginResult> {
  const { access, signal, onGreeting } = asked;
  const plain = await access.dial();
  plain.on("error", () => {});
  let socket: Socket = plain;
  try {
    const greeting = await readGreeting(plain, signal);
    const leave = async (from: Socket, sequence: 1 | 2): Promise<void> =>
      await leaveServer(from, { greeting, sequence, signal: AbortSignal.any([signal, AbortSignal.timeout(leaveMs)]) });
    let login: LoginPacket;
    try {
      onGreeting(requireTls(greeting));
      login = forServer(asked.login, greeting);
    } catch (thrown) {
      await leave(plain, 1).catch(() => {});
      throw thrown;
    }
    plain.write(packet(1, encodeTlsRequest(login)));
    if (plain.readableLength > 0) throw new PlatformError("invalid", "the database sent more than its greeting before TLS");
    const secure = await access.secure(plain, {
      leave: async (refused) =>
        await leave(
          refused.on("error", () => {}),
          2,
        ),
    });
    socket = secure.on("error", () => {});
    secure.setNoDelay(true);
    secure.write(packet(2, encodeLogin(login, greeting.plugin)));
    const result = await authenticate(secure, signal);
    if ("refusal" in result) socket.destroy();
    return result;
  } catch (thrown) {
    socket.destroy();
    throw thrown;
  }
}

/** The session's login with what the way to the server adds. Throws PlatformError `unavailable`. */
function forServer(login: LoginPacket, greeting: Greeting): LoginPacket {
  const { flags, extended } = login.capabilities;
  if (lacking(greeting.capabilities, login.capabilities)) {
    throw new PlatformError("unavailable", "the database's server was replaced by one that can do less", { hint: "connect again" });
  }
  const always = capability.protocol41 | capability.ssl | capability.secureConnection | capability.pluginAuth;
  const schema = login.schema === "" ? 0 : capability.connectWithDb;
  const own = capability.connectWithDb | capability.connectAttributes | capability.lenencAuth;
  const attributes = flags & greeting.capabilities.flags & capability.connectAttributes;
  return { ...login, capabilities: { flags: ((flags & ~own) | always | schema | attributes) >>> 0, extended } };
}

async function authenticate(socket: TLSSocket, signal: AbortSignal): Promise<ServerLoginResult> {
  let sequence = 3;
  for (let round = 0; round < maxRounds; round += 1) {
    const answer = await readPacket(socket, { maxLength: maxAnswer, sequence, what: "the server's answer to the login", signal });
    if (answer[0] === 0) return { socket, status: okStatus(answer) };
    if (answer[0] === 0xff) return { refusal: parseError(answer) };
    sequence += 1;
    // 01 03: the empty password is right, and the OK follows.
    if (answer[0] === 1 && answer[1] === 3) continue;
    if (answer[0] !== 0xfe || answer.length === 1) throw new PlatformError("unavailable", ...wantsPassword);
    socket.write(packet(sequence, emptyAnswer(answer)));
    sequence += 1;
  }
  throw new PlatformError("unavailable", ...wantsPassword);
}

const wantsPassword = [
  "the database demands a password for this account; accounts must log in by certificate alone",
  { hint: "create the account with REQUIRE SUBJECT '/CN=<account>' and without a password" },
] as const;

/** The answer of a user without a password to a server that switches to another plugin. Throws PlatformError `invalid`. */
function emptyAnswer(authSwitch: Buffer): Buffer {
  const plugin = parseAuthSwitch(authSwitch);
  return plugin === "caching_sha2_password" || plugin === "sha256_password" ? Buffer.alloc(1) : Buffer.alloc(0);
}
