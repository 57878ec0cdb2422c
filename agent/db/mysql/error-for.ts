import type { ErrorCode, PlatformError } from "../../../core/errors/platform-error.ts";
import type { MysqlError } from "./server-answer.ts";

type Numbered = Omit<MysqlError, "message">;

const handshake: Numbered = { code: 1043, state: "08S01" };
const denied: Numbered = { code: 1045, state: "28000" };
/** "Unable to connect to foreign data source": clients take those of their own (2003) for a malformed packet when they come from a server. */
const unavailable: Numbered = { code: 1429, state: "HY000" };
const internal: Numbered = { code: 1105, state: "HY000" };
const shutdown: Numbered = { code: 1053, state: "08S01" };
const packets: Numbered = { code: 1156, state: "08S01" };

/** Why a login failed. */
const atLogin: Readonly<Record<ErrorCode, Numbered>> = {
  invalid: handshake,
  unauthenticated: denied,
  denied,
  not_found: denied,
  already_exists: internal,
  conflict: internal,
  limit: { code: 1040, state: "08004" },
  unavailable,
  timeout: handshake,
  unsupported: { code: 1251, state: "08004" },
  internal,
};

/** Why a session ended. */
const atEnd: Readonly<Record<ErrorCode, Numbered>> = {
  ...atLogin,
  invalid: packets,
  unauthenticated: shutdown,
  unavailable: shutdown,
  limit: shutdown,
  timeout: { code: 4031, state: "HY000" },
};
/** MariaDB has a code of its own for a connection that somebody killed, MySQL another one. */
const killed = { mariadb: { code: 1927, state: "70100" }, mysql: { code: 3169, state: "HY000" } };

/** The reason of a refused login in the protocol's words. Pure. */
export function loginError(why: PlatformError): MysqlError {
  return { ...atLogin[why.code], message: sentence(why) };
}

/** A schema that the user may not open, in the protocol's words. Pure. */
export function schemaError(why: PlatformError): MysqlError {
  return { code: 1044, state: "42000", message: sentence(why) };
}

/** The reason of a session's end in the protocol's words; `isMariadb`: the kind of server. Pure. */
export function endError(why: PlatformError, isMariadb: boolean): MysqlError {
  const number = why.code === "denied" || why.code === "not_found" ? killed[isMariadb ? "mariadb" : "mysql"] : atEnd[why.code];
  // MariaDB's clients do not know the code for an idle end.
  return { ...(isMariadb && why.code === "timeout" ? killed.mariadb : number), message: sentence(why) };
}

function sentence({ message, hint }: PlatformError): string {
  return hint === undefined ? message : `${message} (${hint})`;
}
