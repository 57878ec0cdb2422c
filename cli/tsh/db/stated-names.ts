import type { Call } from "../../command.ts";
import type { Profile } from "../../profile/profile.ts";
import { tshHome } from "../../profile/profile-folder.ts";
import { type DatabaseNames, enforced } from "./choose-names.ts";
import { databaseLogins } from "./database-logins.ts";

/** The names for a connection: those of the flags, the account that agents make, those of `tsh db login`, the only ones that the roles list; empty: what the client states. */
export async function statedNames(
  { io, options }: Pick<Call, "io" | "options">,
  profile: Profile,
  { name, protocol, account }: { readonly name: string; readonly protocol: string; readonly account?: string },
): Promise<DatabaseNames> {
  const given = { user: options.text("dbUser"), name: options.text("dbName") };
  // An identity file has its own account: logins at this machine do not concern it.
  const isMachine = options.text("identity") !== undefined;
  const login = isMachine ? undefined : (await databaseLogins(tshHome(io.env), profile.facts)).find((one) => one.name === name);
  const { user: users = [], name: names = [] } = profile.facts.principals.db ?? {};
  const onlyName = enforced.includes(protocol) ? only(names) : "";
  return { user: given.user ?? account ?? login?.user ?? only(users), name: given.name ?? login?.database ?? onlyName };
}

/** The names that a tunnel states for its client, which states them too. Logical databases of MySQL are its own matter: roles do not list them. Pure. */
export function namesForTunnel({ protocol }: { readonly protocol: string }, { user, name }: DatabaseNames): DatabaseNames {
  return { user, name: protocol === "mysql" ? "" : name };
}

/** Empty: none, or several. */
function only(names: readonly string[]): string {
  return names.length === 1 ? (names[0] ?? "") : "";
}
