import { dbUserRule } from "../../../core/access/db-user-rule.ts";
import { expandNames } from "../../../core/access/names.ts";
import { rolesNamed } from "../access/roles.ts";
import type { AuthContext } from "../auth-context.ts";
import { reportedAdmin } from "../certificates/database-admin.ts";
import type { OfferedResource } from "../inventory/live-offered.ts";
import type { Caller } from "./caller.ts";
import { mayReach } from "./permissions.ts";

/** Maximum number of accounts that are listed. */
const maxAccounts = 20;

export interface AllowedAccounts {
  /** `*` is any. */
  readonly accounts: readonly string[];
  /** The agents make the caller's account, which is the only one then. */
  readonly makesAccount: boolean;
}

const none: AllowedAccounts = { accounts: [], makesAccount: false };

/** Accounts that the caller may use at a database that agents offer, for lists: each is one that the access decision allows. */
export async function allowedAccounts(context: AuthContext, caller: Caller): Promise<(one: OfferedResource) => AllowedAccounts> {
  if (caller.kind !== "user") return () => none;
  const { name: user, roles: named, traits } = caller.identity;
  const roles = await rolesNamed(context.storage, named);
  const reaches = await mayReach(context, caller);
  const listed = new Set(roles.flatMap(({ spec }) => expandNames("db_users", spec.allow?.db_users, traits)));
  const accounts = [...listed].sort().slice(0, maxAccounts);
  return ({ kind, name, labels, details, hosts }) => {
    if (kind !== "db") return none;
    const served = { name, labels };
    const ask = { kind, served, without: ["name"], makesAccounts: reportedAdmin({ kind, details }) !== undefined } as const;
    const isAllowed = (account: string): boolean => hosts.some(({ id }) => reaches({ ...ask, names: { user: account }, serverId: id }));
    if (dbUserRule(ask, { held: roles, traits }) !== undefined) return isAllowed(user) ? { accounts: [user], makesAccount: true } : none;
    const allowed = accounts.filter(isAllowed);
    return { accounts: allowed.includes("*") ? ["*"] : allowed, makesAccount: false };
  };
}
