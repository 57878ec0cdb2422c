import type { ServedGrant } from "../../core/access/authorize.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";

/**
 * Throws `denied` for a user who may not copy a server as a replica does. Such a connection reads all logical databases, whichever one it names
 * (`BASE_BACKUP` works on each of them), so that a role has to allow every one: `mayUseAll`.
 */
export function refuseReplication({ identity, rules, ask }: ServedGrant<"db">, mayUseAll: boolean): void {
  const who = `access denied: ${identity.name} may not open replication connections to ${ask.served.name}`;
  if (!rules.dbReplication) {
    const hint = "ask for a role with db_replication: true, or take a backup with pg_dump";
    throw new PlatformError("denied", `${who}: no role allows it, or one forbids it (db_replication)`, { hint });
  }
  if (mayUseAll) return;
  const hint = "ask for a role with db_names: ['*'], or take a backup with pg_dump";
  throw new PlatformError("denied", `${who}: they can copy all databases of the server, and the roles do not allow every database name`, { hint });
}
