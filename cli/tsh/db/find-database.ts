import { PlatformError } from "../../../core/errors/platform-error.ts";

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
