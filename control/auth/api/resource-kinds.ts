import type { z } from "zod";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { PlainResource, ResourceDocument, ResourceSpec } from "../../../core/resources/resource-spec.ts";
import {
  type PlainEventName,
  type PlainKind,
  plainKinds,
  type ResourceKind,
  resourceKinds,
  resourceSpecs,
} from "../../../core/resources/resource-specs.ts";
import { deleteLock, getLock, listLocks, putLock } from "../access/locks.ts";
import { deleteRole, getRole, listRoles, putRole } from "../access/roles.ts";
import type { AuthContext } from "../auth-context.ts";
import { type Actor, checkDocument, type Document, documentKey, fromEntry, named, type PutMode, toPut } from "../document.ts";
import { deleteAnyNode, getAnyNode, listAllNodes, putAnyNode } from "../inventory/all-nodes.ts";
import { deleteMaintenance, getMaintenance, listMaintenance, putMaintenance } from "../rollout/maintenance.ts";
import { deleteRollout, getRollout, listRollouts, putRollout } from "../rollout/rollout-store.ts";
import { deleteToken, getToken, listTokens, putToken } from "../tokens/tokens.ts";
import { removeUser } from "../users/remove-user.ts";
import { getUser, listUsers, putUser } from "../users/users.ts";

/** The API's operations on one kind of resource; incoming documents are checked against their schema. */
interface ResourceMethods {
  list(context: AuthContext): Promise<readonly Document[]>;
  get(context: AuthContext, name: string): Promise<Document>;
  put(context: AuthContext, document: unknown, how: PutMode & { actor: Actor }): Promise<Document>;
  /** The document without its secret. */
  hide(document: Document): Document;
  /** Returns its side effects, a sentence each. */
  delete(context: AuthContext, name: string, actor: Actor): Promise<readonly string[]>;
}

/** Throws `invalid` for a kind that does not exist. */
export function resourceKind(kind: string): ResourceMethods {
  const found = kinds.get(kind);
  if (found !== undefined) return found;
  throw new PlatformError("invalid", `unknown resource kind: ${JSON.stringify(kind.slice(0, 64))}`, {
    hint: `kinds are ${resourceKinds.join(", ")}`,
  });
}

type KindWithBehaviour = Exclude<ResourceKind, PlainKind>;

function checked<T extends Document>(
  { schema }: { readonly schema: z.ZodType<T> },
  put: (context: AuthContext, document: T, how: PutMode & { actor: Actor }) => Promise<T>,
): ResourceMethods["put"] {
  return async (context, document, how) => await put(context, checkDocument(schema, document), how);
}

function only(remove: (context: AuthContext, name: string, actor: Actor) => Promise<void>): ResourceMethods["delete"] {
  return async (context, name, actor) => {
    await remove(context, name, actor);
    return [];
  };
}

const withBehaviour: Readonly<Record<KindWithBehaviour, Omit<ResourceMethods, "hide">>> = {
  role: {
    list: ({ storage }) => listRoles(storage),
    get: ({ storage }, name) => getRole(storage, name),
    put: checked(resourceSpecs.role, putRole),
    delete: only(deleteRole),
  },
  user: { list: listUsers, get: getUser, put: checked(resourceSpecs.user, putUser), delete: removeUser },
  token: { list: listTokens, get: getToken, put: checked(resourceSpecs.token, putToken), delete: only(deleteToken) },
  node: { list: listAllNodes, get: getAnyNode, put: checked(resourceSpecs.node, putAnyNode), delete: only(deleteAnyNode) },
  lock: {
    list: ({ storage }) => listLocks(storage),
    get: ({ storage }, name) => getLock(storage, name),
    put: checked(resourceSpecs.lock, putLock),
    delete: only(deleteLock),
  },
  cluster_maintenance_config: {
    list: listMaintenance,
    get: getMaintenance,
    put: checked(resourceSpecs.cluster_maintenance_config, putMaintenance),
    delete: only(deleteMaintenance),
  },
  upgrade_rollout: { list: listRollouts, get: getRollout, put: checked(resourceSpecs.upgrade_rollout, putRollout), delete: only(deleteRollout) },
};

const kinds: ReadonlyMap<string, ResourceMethods> = new Map([
  ...Object.entries(withBehaviour).map(([kind, methods]) => [kind, { ...methods, hide: (document: Document) => document }] as const),
  ...plainKinds.map((kind) => [kind, plainKind(kind)] as const),
]);

type PlainSpec = ResourceSpec & { readonly plain: PlainResource<ResourceDocument> };

/** Listing, storage and auditing of a kind without behaviour. */
function plainKind(kind: PlainKind): ResourceMethods {
  const { schema, plain } = resourceSpecs[kind] as PlainSpec;
  const emit = (context: AuthContext, [event]: readonly [string, string], name: string, actor: Actor): void => {
    // The kind's own audit event, as its specification lists it.
    context.audit.emit({ event: event as PlainEventName, user: actor.name, name, "addr.remote": actor.address });
  };
  return {
    list: async ({ storage }) => (await storage.list(documentKey(kind, ""))).map((entry) => fromEntry(schema, entry)),
    get: async ({ storage }, name) => {
      const entry = await storage.get(documentKey(kind, name));
      if (entry === undefined) throw new PlatformError("not_found", `${kind} ${name} does not exist`);
      return fromEntry(schema, entry);
    },
    put: async (context, wanted, how) => {
      const checked = checkDocument(schema, wanted);
      const { name } = checked.metadata;
      const before = await context.storage.get(documentKey(kind, name));
      const existed = before !== undefined;
      if (!existed) await requireRoom(context, kind, plain.most);
      const document = withSecret(plain, checked, before === undefined ? undefined : fromEntry(schema, before));
      const entry = await named(`${kind} ${name}`, context.storage.put(toPut(document, how)));
      emit(context, existed ? plain.events.updated : plain.events.created, name, how.actor);
      return fromEntry(schema, entry);
    },
    // A document that this kind has stored or checked.
    hide: (document) => plain.secret?.hide(document as ResourceDocument) ?? document,
    delete: async (context, name, actor) => {
      await named(`${kind} ${name}`, context.storage.batch([{ key: documentKey(kind, name), expect: "present" }]));
      emit(context, plain.events.deleted, name, actor);
      return [];
    },
  };
}

/** What is stored: with the secret of the document before, if it has none of its own. Throws `invalid` without any. */
function withSecret({ secret }: PlainSpec["plain"], document: ResourceDocument, before: ResourceDocument | undefined): ResourceDocument {
  if (secret === undefined) return document;
  const whole = secret.keep(document, before);
  if (secret.isThere(whole)) return whole;
  throw new PlatformError("invalid", `${document.kind} ${document.metadata.name} needs ${secret.name}`);
}

async function requireRoom({ storage }: AuthContext, kind: string, most: number): Promise<void> {
  const count = (await storage.list(documentKey(kind, ""))).length;
  if (count >= most)
    throw new PlatformError("limit", `this cluster has ${most} resources of kind ${kind}, the maximum`, {
      hint: `remove some with: tctl rm ${kind}/NAME`,
    });
}
