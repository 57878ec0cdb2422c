import type { ListedDatabase } from "../../core/api/web/served.ts";
import { loginLine } from "./login-line.ts";
import { shellWord } from "./size.ts";

export interface DatabaseLines {
  readonly login: string;
  /** Starts the database's own client. */
  readonly connect: string;
  /** Opens a local port. */
  readonly local: string;
}

/** Command lines for a database: with the account, when the user's roles name exactly one, else with a place for it. Pure. */
export function databaseLines({ name, accounts }: Pick<ListedDatabase, "name" | "accounts">, proxy: string, user: string): DatabaseLines {
  const [only] = accounts;
  const account = accounts.length === 1 && only !== undefined && only !== "*" ? shellWord(only) : "<account>";
  const target = `${shellWord(name)} --db-user=${account}`;
  return {
    login: loginLine(proxy, user),
    connect: `tsh db connect ${target}`,
    local: `tsh proxy db ${target}`,
  };
}
