import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { ProfileFacts } from "../../profile/profile.ts";

/** An account at a database, and a logical database there; empty where the client states it. */
export interface DatabaseNames {
  readonly user: string;
  readonly name: string;
}

interface Given {
  /** As typed. */
  readonly user: string | undefined;
  readonly name: string | undefined;
  /** Of an earlier `tsh db login`. */
  readonly before: DatabaseNames | undefined;
}

interface ChosenDatabase {
  readonly name: string;
  readonly protocol: string;
  /** The user's account there, if agents make it. */
  readonly account?: string;
}

/** Protocols whose agents enforce `db_names`: their clients have to state a name that is listed. */
export const enforced: readonly string[] = ["postgres", "mongodb"];

/**
 * The names for `tsh db login`: as given, or the only one that the roles list, or those of the login before. Throws `invalid` naming the flag that is
 * missing. Pure.
 */
export function chooseNames(database: ChosenDatabase, given: Given, facts: ProfileFacts): DatabaseNames {
  const { user: users = [], name: names = [] } = facts.principals.db ?? {};
  const { before } = given;
  const user = checked("--db-user", given.user) ?? database.account ?? only(users) ?? kept(before?.user, users);
  if (user === undefined) throw missing(database.name, { flag: "--db-user", noun: "database user", condition: "db_users" }, users);
  if (!enforced.includes(database.protocol)) return { user, name: checked("--db-name", given.name) ?? before?.name ?? "" };
  const name = checked("--db-name", given.name) ?? only(names) ?? kept(before?.name, names);
  // A list without names is that of `*`, if it is not empty: the client's default may do.
  if (name === undefined && names.length > 0)
    throw missing(database.name, { flag: "--db-name", noun: "database name", condition: "db_names" }, names);
  return { user, name: name ?? "" };
}

function only(names: readonly string[]): string | undefined {
  return names.length === 1 ? names[0] : undefined;
}

function kept(before: string | undefined, names: readonly string[]): string | undefined {
  return before !== undefined && before !== "" && (names.length === 0 || names.includes(before)) ? before : undefined;
}

/** Throws `invalid` for a name that no server has, and that a file of settings could not hold. */
function checked(flag: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
  if (text !== "" && text.length <= 64 && text.trim() === text && !/[\u0000-\u001f\u007f]/.test(text)) return text;
  throw new PlatformError("invalid", `${flag} ${JSON.stringify(text.slice(0, 64))} is not a name`, {
    hint: "a name has 1 to 64 characters, without control characters and without spaces at its ends",
  });
}

/** Maximum number of names in a hint. */
const maxNamed = 10;

function missing(
  database: string,
  { flag, noun, condition }: { flag: string; noun: string; condition: string },
  names: readonly string[],
): PlatformError {
  const listed = names.length === 0 ? `your roles list none by name (${condition})` : `your roles list ${names.slice(0, maxNamed).join(", ")}`;
  const more = names.length > maxNamed ? `, and ${names.length - maxNamed} more` : "";
  return new PlatformError("invalid", `${flag} is missing: no ${noun} was given for ${database}, and there is no single one to choose`, {
    hint: `${listed}${more}; for example: tsh db login ${flag}=${names[0] ?? "<name>"} ${database}`,
  });
}
