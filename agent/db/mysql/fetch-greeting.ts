import type { Socket } from "node:net";
import { capability } from "../../../core/databases/mysql/capabilities.ts";
import type { Greeting } from "../../../core/databases/mysql/greeting.ts";
import { packet } from "../../../core/databases/mysql/packet.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { has } from "./capabilities.ts";
import { maxGreeting, parseGreeting } from "./greeting.ts";
import { encodeLogin } from "./login-packet.ts";
import { readPacket } from "./read-packet.ts";
import { parseError } from "./server-answer.ts";

/** Time for all of it, ms: a client waits. */
const wholeMs = 4_000;
const maxAnswer = 4_096;
/** Packets of a server that refuses a login. */
const maxRounds = 4;
/** An account that does not exist. */
const nobody = "platform-greeting-only";

/**
 * Reads the greeting of a server, and leaves like a user whose login is refused. A connection that ends before a login, or with COM_QUIT in its place, counts as a
 * broken handshake: after `max_connect_errors` (100) of them the server blocks this host (error 1129). A refused login does not count there (seen with MariaDB
 * 10.11 and MySQL 9.7, performance_schema.host_cache). Throws PlatformError.
 */
export async function fetchGreeting(reach: () => Promise<Socket>): Promise<Greeting> {
  const signal = AbortSignal.timeout(wholeMs);
  const late = Promise.withResolvers<never>();
  const onLate = (): void => late.reject(new PlatformError("timeout", "the database did not greet in time"));
  signal.addEventListener("abort", onLate, { once: true });
  const reached = reach();
  // A connection that is opened too late is not used.
  reached.then(
    (socket) => signal.aborted && socket.destroy(),
    () => {},
  );
  try {
    const socket = await Promise.race([reached, late.promise]);
    try {
      return await greetAndLeave(
        socket.on("error", () => {}),
        signal,
      );
    } finally {
      socket.destroy();
    }
  } finally {
    signal.removeEventListener("abort", onLate);
  }
}

async function greetAndLeave(socket: Socket, signal: AbortSignal): Promise<Greeting> {
  const greeting = await readGreeting(socket, signal);
  await leaveServer(socket, { greeting, sequence: 1, signal }).catch(() => {
    // The greeting is what counts.
  });
  return requireTls(greeting);
}

/** The login of the account that does not exist, as far as it stands in a request for TLS too. */
export const strangersLogin = {
  capabilities: { flags: capability.mysql | capability.protocol41 | capability.secureConnection | capability.pluginAuth, extended: 0 },
  maxPacket: 1 << 24,
  charset: 33,
} as const;

export interface Leaving {
  readonly greeting: Pick<Greeting, "plugin">;
  /** Of the login: 1, or 2 after a request for TLS. */
  readonly sequence: 1 | 2;
  readonly signal: AbortSignal;
}

/** Leaves a server that has greeted, like a user whose login is refused; it may first ask for a password in several ways. Throws PlatformError. */
export async function leaveServer(socket: Socket, { greeting, sequence: first, signal }: Leaving): Promise<void> {
  const { flags } = strangersLogin.capabilities;
  const capabilities = { flags: first === 2 ? flags | capability.ssl : flags, extended: 0 };
  const login = { ...strangersLogin, capabilities, user: nobody, schema: "", attributes: Buffer.alloc(0) };
  socket.write(packet(first, encodeLogin(login, greeting.plugin)));
  for (let round = 0; round < maxRounds; round += 1) {
    const sequence = first + 1 + round * 2;
    const answer = await readPacket(socket, { maxLength: maxAnswer, sequence, what: "the server's answer", signal });
    if (answer[0] === 0xff) return;
    // An account of this name: it has logged in.
    if (answer[0] === 0) return void (await new Promise<void>((resolve) => socket.end(packet(0, Buffer.of(1)), resolve)));
    socket.write(packet(sequence + 1, Buffer.alloc(0)));
  }
}

/** Reads the greeting, also of a server without TLS. Throws PlatformError `unavailable` for a server that refuses to talk; `invalid` for one that is not MySQL. */
export async function readGreeting(socket: Socket, signal: AbortSignal): Promise<Greeting> {
  const payload = await readPacket(socket, { maxLength: maxGreeting, sequence: 0, what: "the server's greeting", signal });
  if (payload[0] === 0xff) {
    const { code, message } = parseError(payload);
    throw new PlatformError("unavailable", `the database refused the connection: ${message} (error ${code})`);
  }
  return parseGreeting(payload);
}

/** The greeting of a server with TLS. Throws `unavailable`. */
export function requireTls(greeting: Greeting): Greeting {
  if (has(greeting.capabilities, capability.ssl)) return greeting;
  throw new PlatformError("unavailable", "the database does not offer TLS", { hint: "set ssl-ca, ssl-cert and ssl-key in its [mysqld] section" });
}
