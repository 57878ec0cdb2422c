import { PlatformError } from "../../../../core/errors/platform-error.ts";
import type { NameRules } from "../name-faults.ts";

/** Longest name, bytes: the server truncates longer ones, which would then mean another role. */
const maxBytes = 63;

/** A name as an SQL identifier, which the server takes as it is. Throws `invalid` for a name that cannot be an identifier. Pure. */
export function quoteName(name: string): string {
  const bytes = Buffer.byteLength(name);
  if (bytes < 1 || bytes > maxBytes || name.includes("\0") || !name.isWellFormed())
    throw new PlatformError("invalid", `${JSON.stringify(name.slice(0, 80))} cannot be a name at a PostgreSQL server`);
  return `"${name.replaceAll('"', '""')}"`;
}

export const postgresNames: NameRules = {
  server: "PostgreSQL",
  fault: (name) => {
    if (Buffer.byteLength(name) > maxBytes) return `it has more than ${maxBytes} bytes`;
    // The grammar treats these two as keywords even in quotes; the others are the server's own.
    if (name === "public" || name === "none" || name.startsWith("pg_")) return "the server keeps this name for itself";
    return undefined;
  },
};
