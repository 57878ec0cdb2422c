import { loginError, type MysqlError } from "../../../core/databases/mysql/error-packet.ts";
import type { ErrorCode, PlatformError } from "../../../core/errors/platform-error.ts";

type Numbered = Omit<MysqlError, "message">;

const shutdown: Numbered = { code: 1053, state: "08S01" };

/** Why a session ended, where that has another number than a refused login. */
const atEnd: Partial<Record<ErrorCode, Numbered>> = {
  invalid: { code: 1156, state: "08S01" },
  unauthenticated: shutdown,
  unavailable: shutdown,
  limit: shutdown,
  timeout: { code: 4031, state: "HY000" },
};
/** MariaDB and MySQL have different codes for a killed connection. */
const killed = { mariadb: { code: 1927, state: "70100" }, mysql: { code: 3169, state: "HY000" } };

/** A schema that the user may not open, in the protocol's words. Pure. */
export function schemaError(why: PlatformError): MysqlError {
  return { ...loginError(why), code: 1044, state: "42000" };
}

/** The reason of a session's end in the protocol's words; `isMariadb`: the kind of server. Pure. */
export function endError(why: PlatformError, isMariadb: boolean): MysqlError {
  const number = why.code === "denied" || why.code === "not_found" ? killed[isMariadb ? "mariadb" : "mysql"] : atEnd[why.code];
  // MariaDB's clients do not know the code for an idle end.
  return { ...loginError(why), ...(isMariadb && why.code === "timeout" ? killed.mariadb : number) };
}
