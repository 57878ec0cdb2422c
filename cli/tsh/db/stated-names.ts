import type { Call } from "../../command.ts";
import type { Profile } from "../../profile/profile.ts";
import { tshHome } from "../../profile/profile-folder.ts";
import type { DatabaseNames } from "./choose-names.ts";
import { databaseLogins } from "./database-logins.ts";

/** The names for a connection: those of the flags, the account that agents make, those of `tsh db login`; empty: what the client states. */
export async function statedNames(
  { io, options }: Pick<Call, "io" | "options">,
  profile: Profile,
  { name, account }: { readonly name: string; readonly account?: string },
): Promise<DatabaseNames> {
  const given = { user: options.text("dbUser"), name: options.text("dbName") };
  // An identity file has its own account: logins at this machine do not concern it.
  const isMachine = options.text("identity") !== undefined;
  const login = isMachine ? undefined : (await databaseLogins(tshHome(io.env), profile.facts)).find((one) => one.name === name);
  return { user: given.user ?? account ?? login?.user ?? onlyUser(profile), name: given.name ?? login?.database ?? "" };
}

/** The names that a tunnel states for its client, which states them too. Logical databases of MySQL are its own matter: roles do not list them. Pure. */
export function namesForTunnel({ protocol }: { readonly protocol: string }, { user, name }: DatabaseNames): DatabaseNames {
  return { user, name: protocol === "mysql" ? "" : name };
}

/** The only account that the roles list; empty: none, or several. */
function onlyUser({ facts }: Profile): string {
  const users = facts.principals.db?.user ?? [];
  return users.length === 1 ? (users[0] ?? "") : "";
}
