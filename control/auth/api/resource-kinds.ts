import type { z } from "zod";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { type PlainKind, plainKinds, type ResourceKind, resourceKinds, resourceSpecs } from "../../../core/resources/resource-specs.ts";
import type { Actor } from "../actor.ts";
import type { AuthContext } from "../auth-context.ts";
import { checkDocument, type Document, type PutMode } from "../documents/document.ts";
import { deleteAnyNode, getAnyNode, listAllNodes, putAnyNode } from "../inventory/all-nodes.ts";
import { deleteLock, getLock, listLocks, putLock } from "../locks/locks.ts";
import { deleteMaintenance, getMaintenance, listMaintenance, putMaintenance } from "../maintenance/maintenance.ts";
import { plainKind } from "../resources/plain-kind.ts";
import type { ResourceMethods } from "../resources/resource-methods.ts";
import { deleteRole, getRole, listRoles, putRole } from "../roles/roles.ts";
import { deleteRollout, getRollout, listRollouts, putRollout } from "../rollout/rollout-store.ts";
import { deleteToken, getToken, listTokens, putToken } from "../tokens/tokens.ts";
import { removeUser } from "../users/remove-user.ts";
import { getUser, listUsers, putUser } from "../users/user-records.ts";

type KindWithBehaviour = Exclude<ResourceKind, PlainKind>;

function checked<Kind extends KindWithBehaviour, T extends Document & z.infer<(typeof resourceSpecs)[Kind]["schema"]>>(
  kind: Kind,
  put: (context: AuthContext, document: T, how: PutMode & { actor: Actor }) => Promise<T>,
): ResourceMethods["put"] {
  return async (context, document, how) => await put(context, checkDocument(resourceSpecs[kind].schema as unknown as z.ZodType<T>, document), how);
}

function only(remove: (context: AuthContext, name: string, actor: Actor) => Promise<void>): ResourceMethods["delete"] {
  return async (context, name, actor) => {
    await remove(context, name, actor);
    return [];
  };
}

const withBehaviour: Readonly<Record<KindWithBehaviour, ResourceMethods>> = {
  role: {
    list: ({ storage }) => listRoles(storage),
    get: ({ storage }, name) => getRole(storage, name),
    put: checked("role", putRole),
    delete: only(deleteRole),
  },
  user: { list: listUsers, get: getUser, put: checked("user", putUser), delete: removeUser },
  token: { list: listTokens, get: getToken, put: checked("token", putToken), delete: only(deleteToken) },
  node: { list: listAllNodes, get: getAnyNode, put: checked("node", putAnyNode), delete: only(deleteAnyNode) },
  lock: {
    list: ({ storage }) => listLocks(storage),
    get: ({ storage }, name) => getLock(storage, name),
    put: checked("lock", putLock),
    delete: only(deleteLock),
  },
  cluster_maintenance_config: {
    list: listMaintenance,
    get: getMaintenance,
    put: checked("cluster_maintenance_config", putMaintenance),
    delete: only(deleteMaintenance),
  },
  upgrade_rollout: { list: listRollouts, get: getRollout, put: checked("upgrade_rollout", putRollout), delete: only(deleteRollout) },
};

const methods: ReadonlyMap<string, ResourceMethods> = new Map([
  ...Object.entries(withBehaviour),
  ...plainKinds.map((kind) => [kind, plainKind(kind)] as const),
]);

/** Throws `invalid` for a kind that does not exist. */
export function resourceKind(kind: string): ResourceMethods {
  const found = methods.get(kind);
  if (found !== undefined) return found;
  throw new PlatformError("invalid", `unknown resource kind: ${JSON.stringify(kind.slice(0, 64))}`, {
    hint: `kinds are ${resourceKinds.join(", ")}`,
  });
}
