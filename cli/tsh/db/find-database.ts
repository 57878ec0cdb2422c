import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { CliIo } from "../../io.ts";
import { writeNote } from "../../output.ts";

/** Names the database that is meant by the beginning of a name: it may be another one than the user thinks. */
export function noteShortName(io: CliIo, given: string, name: string): void {
  if (given !== name) writeNote(io, `${given} stands for database ${name}, the only one that you may use with a name that begins so`);
}

/** Maximum number of names in a hint. */
const maxNamed = 10;

/** The one with this name, or the only one whose name begins so. Throws `not_found`, and `invalid` when several do. Pure. */
export function findDatabase<T extends { readonly name: string }>(all: readonly T[], given: string): T {
  const exact = all.find(({ name }) => name === given);
  if (exact !== undefined) return exact;
  const matching = given === "" ? [] : all.filter(({ name }) => name.startsWith(given));
  const names = [...new Set(matching.map(({ name }) => name))].sort();
  if (matching[0] !== undefined && names.length === 1) return matching[0];
  const quoted = JSON.stringify(given.slice(0, 64));
  if (names.length === 0) {
    throw new PlatformError("not_found", `database ${quoted} does not exist, or your roles do not allow it`, {
      hint: "`tsh db ls` lists those that you may use",
    });
  }
  const more = names.length > maxNamed ? `, and ${names.length - maxNamed} more` : "";
  throw new PlatformError("invalid", `${names.length} databases have a name that begins with ${quoted}`, {
    hint: `give more of the name: ${names.slice(0, maxNamed).join(", ")}${more}`,
  });
}
