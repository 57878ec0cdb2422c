import type { z } from "zod";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { lockSchema } from "../../../core/resources/lock.ts";
import { maintenanceSchema } from "../../../core/resources/maintenance.ts";
import { nodeSchema } from "../../../core/resources/node.ts";
import { type RuleResource, roleSchema } from "../../../core/resources/role.ts";
import { tokenSchema } from "../../../core/resources/token.ts";
import { upgradeRolloutSchema } from "../../../core/resources/upgrade-rollout.ts";
import { userSchema } from "../../../core/resources/user.ts";
import type { Actor } from "../actor.ts";
import type { AuthContext } from "../auth-context.ts";
import { checkDocument, type Document, type PutMode } from "../documents/document.ts";
import { deleteAnyNode, getAnyNode, listAllNodes, putAnyNode } from "../inventory/all-nodes.ts";
import { deleteLock, getLock, listLocks, putLock } from "../locks/locks.ts";
import { deleteMaintenance, getMaintenance, listMaintenance, putMaintenance } from "../maintenance/maintenance.ts";
import { deleteRole, getRole, listRoles, putRole } from "../roles/roles.ts";
import { deleteRollout, getRollout, listRollouts, putRollout } from "../rollout/rollout-store.ts";
import { deleteToken, getToken, listTokens, putToken } from "../tokens/tokens.ts";
import { removeUser } from "../users/remove-user.ts";
import { getUser, listUsers, putUser } from "../users/user-records.ts";

/** One kind of resource; documents are checked against their schema on the way in. */
export interface ResourceKind {
  list(context: AuthContext): Promise<readonly Document[]>;
  get(context: AuthContext, name: string): Promise<Document>;
  put(context: AuthContext, document: unknown, how: PutMode & { actor: Actor }): Promise<Document>;
  /** Returns what it did besides, a sentence each. */
  delete(context: AuthContext, name: string, actor: Actor): Promise<readonly string[]>;
}

function checked<T extends Document>(
  schema: z.ZodType<T>,
  put: (context: AuthContext, document: T, how: PutMode & { actor: Actor }) => Promise<T>,
): ResourceKind["put"] {
  return async (context, document, how) => await put(context, checkDocument(schema, document), how);
}

function only(remove: (context: AuthContext, name: string, actor: Actor) => Promise<void>): ResourceKind["delete"] {
  return async (context, name, actor) => {
    await remove(context, name, actor);
    return [];
  };
}

const kinds: ReadonlyMap<string, ResourceKind> = new Map<RuleResource, ResourceKind>([
  [
    "role",
    {
      list: ({ storage }: AuthContext) => listRoles(storage),
      get: ({ storage }: AuthContext, name: string) => getRole(storage, name),
      put: checked(roleSchema, putRole),
      delete: only(deleteRole),
    },
  ],
  ["user", { list: listUsers, get: getUser, put: checked(userSchema, putUser), delete: removeUser }],
  ["token", { list: listTokens, get: getToken, put: checked(tokenSchema, putToken), delete: only(deleteToken) }],
  ["node", { list: listAllNodes, get: getAnyNode, put: checked(nodeSchema, putAnyNode), delete: only(deleteAnyNode) }],
  [
    "lock",
    {
      list: ({ storage }: AuthContext) => listLocks(storage),
      get: ({ storage }: AuthContext, name: string) => getLock(storage, name),
      put: checked(lockSchema, putLock),
      delete: only(deleteLock),
    },
  ],
  [
    "cluster_maintenance_config",
    { list: listMaintenance, get: getMaintenance, put: checked(maintenanceSchema, putMaintenance), delete: only(deleteMaintenance) },
  ],
  ["upgrade_rollout", { list: listRollouts, get: getRollout, put: checked(upgradeRolloutSchema, putRollout), delete: only(deleteRollout) }],
]);

/** Throws `invalid` for a kind that does not exist. */
export function resourceKind(kind: string): ResourceKind {
  const found = kinds.get(kind);
  if (found === undefined) {
    throw new PlatformError("invalid", `no such kind of resource: ${JSON.stringify(kind.slice(0, 64))}`, {
      hint: `kinds are ${[...kinds.keys()].join(", ")}`,
    });
  }
  return found;
}
