import { capability } from "../../../core/databases/mysql/capabilities.ts";
import { packet } from "../../../core/databases/mysql/packet.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Probe } from "../engine.ts";
import { leaveServer, readGreeting, requireTls, strangersLogin } from "./fetch-greeting.ts";
import { encodeTlsRequest } from "./login-packet.ts";

/**
 * A health check: greeting, TLS, and a login that the server refuses. The server sees a whole login, even if its TLS or certificate is wrong: after
 * `max_connect_errors` broken ones it would block this host.
 */
export const probeMysql: Probe = async (road) => {
  const { signal } = road;
  const plain = await road.dial();
  plain.on("error", () => {});
  try {
    const greeting = await readGreeting(plain, signal);
    if ((greeting.capabilities.flags & capability.ssl) === 0) {
      await leaveServer(plain, { greeting, sequence: 1, signal });
      requireTls(greeting);
    }
    const { flags } = strangersLogin.capabilities;
    plain.write(packet(1, encodeTlsRequest({ ...strangersLogin, capabilities: { flags: flags | capability.ssl, extended: 0 } })));
    if (plain.readableLength > 0) throw new PlatformError("invalid", "the database sent more than its greeting before TLS");
    const secure = await road.secure(plain);
    secure.on("error", () => {});
    await leaveServer(secure, { greeting, sequence: 2, signal });
    secure.destroySoon();
  } catch (thrown) {
    plain.destroy();
    throw thrown;
  }
};
