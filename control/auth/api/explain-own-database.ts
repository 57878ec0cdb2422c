import { type Explanation, explainAccess } from "../../../core/access/explain-access.ts";
import { type OfferedUse, offeredAsks } from "../../../core/access/offered-asks.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { listLocks } from "../access/locks.ts";
import { rolesNamed } from "../access/roles.ts";
import type { AuthContext } from "../auth-context.ts";
import { listOffered } from "../inventory/live-offered.ts";
import type { UserCaller } from "./caller.ts";
import { rolesReach } from "./permissions.ts";

export interface OwnDatabaseAsk extends Pick<OfferedUse, "dbUser" | "dbName"> {
  readonly name: string;
}

/**
 * Whether the caller may reach a database, and what each of the caller's own roles says. One that none of these roles reaches is answered like one that is not
 * there; a lock is named. Throws `conflict` while its agents disagree about it.
 */
export async function explainOwnDatabase(context: AuthContext, caller: UserCaller, { name, ...use }: OwnDatabaseAsk): Promise<Explanation> {
  const { name: user, roles: held, traits } = caller.identity;
  const reaches = await rolesReach(context, caller);
  const listed = listOffered(context.offered, context.live, (one, serverId) => {
    if (one.kind !== "db" || one.name !== name) return false;
    return reaches({ kind: "db", served: one, without: ["user", "name"], serverId });
  });
  const used = listed.filter(({ unused }) => unused === "");
  const [fault] = listed.filter(({ isPassedOver }) => !isPassedOver);
  if (used.length === 0 && fault !== undefined) throw new PlatformError("conflict", fault.unused);
  const roles = await rolesNamed(context.storage, held);
  const owned = Object.fromEntries(Object.entries(traits).map(([key, values]) => [key, [...values]]));
  const person = { metadata: { name: user }, spec: { roles: [...held], traits: owned } };
  const facts = { user: person, roles, locks: await listLocks(context.storage), now: context.now() };
  const all = used.flatMap((place) => offeredAsks("db", place, use)).map((ask) => explainAccess({ ...facts, ask }));
  return all.find(({ allowed }) => allowed) ?? all[0] ?? unreached(name, held);
}

function unreached(name: string, roles: readonly string[]): Explanation {
  const whose = roles.length === 0 ? "you have no role" : `check db_labels in your roles (${roles.join(", ")})`;
  return { allowed: false, reason: `no agent offers a database ${JSON.stringify(name)} that you may reach; ${whose}`, roles: [] };
}
