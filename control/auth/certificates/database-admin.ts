import { PlatformError } from "../../../core/errors/platform-error.ts";
import { type Db, dbDocument, ownAdminPrefix } from "../../../core/resources/db.ts";
import { readDocument } from "../../../core/resources/document.ts";
import type { Offered } from "../../../core/resources/offered.ts";
import type { AuthContext } from "../auth-context.ts";
import { documentKey } from "../document.ts";

/** Longest validity of an agent's certificate as the admin_user of a database, ms: it is for one login. */
export const adminMs = 300_000;

export interface AdminAsk {
  readonly offered: Offered;
  readonly account: string;
  /** Whether the agent asks for it to make an account. */
  readonly isAdmin: boolean;
}

/** The admin_user of a database, as its agent reports it; undefined: that makes no accounts. Pure. */
export function reportedAdmin({ kind, details }: Pick<Offered, "kind" | "details">): string | undefined {
  return kind === "db" ? details?.admin_user : undefined;
}

/**
 * Lets an agent be the admin_user of a database that it offers, and nobody else. A `db` resource of the cluster names any account; an agent's own word
 * counts for names with the prefix alone. Throws `denied`.
 */
export async function checkAdmin(context: Pick<AuthContext, "storage">, { offered, account, isAdmin }: AdminAsk): Promise<void> {
  const reported = reportedAdmin(offered);
  if (!isAdmin) {
    if (account !== reported) return;
    throw new PlatformError("denied", `access denied: ${account} is the account with which agents make others at ${offered.name}, and nobody's own`);
  }
  if (account === reported && (account.startsWith(ownAdminPrefix) || account === (await storedAdmin(context, offered.name)))) return;
  throw new PlatformError("denied", `access denied: ${JSON.stringify(account)} is not the admin_user of database ${offered.name}`, {
    hint: `in the configuration file of an agent its name begins with ${ownAdminPrefix}; a db resource of the cluster may name any`,
  });
}

async function storedAdmin({ storage }: Pick<AuthContext, "storage">, name: string): Promise<string | undefined> {
  const stored = await storage.get(documentKey("db", name));
  if (stored === undefined) return undefined;
  const { spec }: Db = readDocument(dbDocument, stored.value);
  return spec.admin_user?.name;
}
