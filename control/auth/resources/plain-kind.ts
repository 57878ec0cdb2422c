import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { PlainResource, ResourceDocument, ResourceSpec } from "../../../core/resources/resource-spec.ts";
import { type PlainEventName, type PlainKind, resourceSpecs } from "../../../core/resources/resource-specs.ts";
import type { Actor } from "../actor.ts";
import type { AuthContext } from "../auth-context.ts";
import { checkDocument, documentKey, fromEntry, named, toPut } from "../documents/document.ts";
import type { ResourceMethods } from "./resource-methods.ts";

type PlainSpec = ResourceSpec & { readonly plain: PlainResource<ResourceDocument> };

/** Listing, storage and auditing of a kind without behaviour. */
export function plainKind(kind: PlainKind): ResourceMethods {
  const { schema, plain } = resourceSpecs[kind] as unknown as PlainSpec;
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
      const document = checkDocument(schema, wanted);
      const { name } = document.metadata;
      const existed = (await context.storage.get(documentKey(kind, name))) !== undefined;
      if (!existed) await requireRoom(context, kind, plain.most);
      const entry = await named(`${kind} ${name}`, context.storage.put(toPut(document, how)));
      emit(context, existed ? plain.events.updated : plain.events.created, name, how.actor);
      return fromEntry(schema, entry);
    },
    delete: async (context, name, actor) => {
      await named(`${kind} ${name}`, context.storage.batch([{ key: documentKey(kind, name), expect: "present" }]));
      emit(context, plain.events.deleted, name, actor);
      return [];
    },
  };
}

async function requireRoom({ storage }: AuthContext, kind: string, most: number): Promise<void> {
  const count = (await storage.list(documentKey(kind, ""))).length;
  if (count >= most)
    throw new PlatformError("limit", `this cluster has ${most} resources of kind ${kind}, the maximum`, {
      hint: `remove some with: tctl rm ${kind}/NAME`,
    });
}
