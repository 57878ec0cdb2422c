import { PlatformError } from "../../../../core/errors/platform-error.ts";
import type { NameRules } from "../name-faults.ts";

/* Texts in statements for MySQL and MariaDB. All hold whatever sql_mode is, but `quoteSubject`, which needs NO_BACKSLASH_ESCAPES. */

/** Longest account of each kind, characters. The CN of a certificate bounds names too. */
const longest = { mysql: 32, mariadb: 64 } as const;

/** A name as an identifier, which the server takes as it is. Throws `invalid` for a name that cannot be an identifier. Pure. */
export function quoteName(name: string): string {
  if (name === "" || name.length > 128 || name.includes("\0") || !name.isWellFormed())
    throw new PlatformError("invalid", `${JSON.stringify(name.slice(0, 80))} cannot be a name at this server`);
  return `\`${name.replaceAll("`", "``")}\``;
}

/** An account from any address. Pure. */
export function quoteAccount(name: string): string {
  return `${quoteName(name)}@\`%\``;
}

/** A text as a value to compare with names byte by byte. Pure. */
export function quoteValue(text: string): string {
  return `x'${Buffer.from(text).toString("hex")}'`;
}

/**
 * The subject of an account's certificate, for REQUIRE SUBJECT: OpenSSL's one-line form, in which every byte but the printable ones of ASCII is `\xHH`.
 * Pure.
 */
export function quoteSubject(name: string): string {
  const shown = [...Buffer.from(name)].map((byte) =>
    byte >= 0x20 && byte <= 0x7e ? String.fromCharCode(byte) : `\\x${byte.toString(16).toUpperCase().padStart(2, "0")}`,
  );
  return `'/CN=${shown.join("").replaceAll("'", "''")}'`;
}

const keywords: ReadonlySet<string> = new Set(["public", "none", "all", "default", "current_user", "current_role", "root", "mysql"]);

export function mysqlNames(kind: "mysql" | "mariadb"): NameRules {
  return {
    server: kind === "mysql" ? "MySQL" : "MariaDB",
    fault: (name) => {
      const length = [...name].length;
      if (length > longest[kind]) return `it has ${length} characters; ${longest[kind]} are the most`;
      if (keywords.has(name.toLowerCase()) || name.startsWith("mysql.")) return "the server keeps this name for itself";
      // The server's columns for names are utf8mb3, and drop spaces at the end.
      if (/[\u{10000}-\u{10ffff}]/u.test(name) || name.trim() !== name || !name.isWellFormed()) return "the server would change it";
      return undefined;
    },
  };
}
