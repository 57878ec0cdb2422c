import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ResourceSchema } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { readDocument, resourceDocument, writeResource } from "../../../core/resources/document.ts";
import type { Document } from "../documents/document.ts";
import { getAnyNode, storedKey } from "../inventory/all-nodes.ts";
import { createToken } from "../tokens/tokens.ts";
import { actorOf } from "./caller.ts";
import type { Api, Handlers } from "./guard.ts";
import { anyLogin, listNodesFor } from "./list-nodes.ts";
import { isDenied, mayReach, requireRule } from "./permissions.ts";
import { resourceKind } from "./resource-kinds.ts";

type Methods = Handlers<"createToken" | "listResources" | "getResource" | "putResource" | "deleteResource">;

export function resourceMethods(api: Api): Methods {
  const { context } = api;
  return {
    createToken: async ({ roles, ttlSeconds, uses, secret }, caller) => {
      const made = await createToken(context, { roles, ttlSeconds, uses, secret, actor: actorOf(caller) });
      return { secret: made.secret, token: message(made.token) };
    },
    listResources: async ({ kind, labels, search, query, limit, cursor }, caller) => {
      const found = resourceKind(kind);
      if (kind === "node") {
        const page = await listNodesFor(api, caller, { labels, search, query, limit, cursor });
        return { resources: page.nodes.map(message), cursor: page.cursor };
      }
      if (Object.keys(labels).length > 0 || search.length > 0 || query !== "")
        throw new PlatformError("invalid", `filters are only supported for nodes, not for kind ${kind}`);
      await requireRule(context, caller, { resource: kind, verb: "list" });
      return { resources: (await found.list(context)).map(message) };
    },
    getResource: async ({ kind, name }, caller) => {
      const found = resourceKind(kind);
      try {
        await requireRule(context, caller, { resource: kind, verb: "read" });
      } catch (thrown) {
        // Users without a rule for nodes see those that they may reach; for any other kind only the rule decides.
        if (!isDenied(thrown) || kind !== "node" || caller.kind !== "user") throw thrown;
        const node = await getAnyNode(context, name);
        if (!(await mayReach(context, caller))(anyLogin(node))) throw new PlatformError("not_found", `${kind} ${name} does not exist`);
        return message(node);
      }
      return message(await found.get(context, name));
    },
    putResource: async ({ json, overwrite, mustExist }, caller) => {
      const document = readDocument(resourceDocument, json);
      const kind = resourceKind(document.kind);
      const exists = (await context.storage.get(storedKey(document))) !== undefined;
      await requireRule(context, caller, { resource: document.kind, verb: exists ? "update" : "create" });
      return message(await kind.put(context, document, { overwrite, mustExist, actor: actorOf(caller) }));
    },
    deleteResource: async ({ kind, name }, caller) => {
      const found = resourceKind(kind);
      const isOwn = kind === "node" && caller.kind === "host" && caller.identity.role === "node" && caller.identity.id === name;
      if (!isOwn) await requireRule(context, caller, { resource: kind, verb: "delete" });
      return { notes: [...(await found.delete(context, name, actorOf(caller)))] };
    },
  };
}

function message(document: Document): MessageInitShape<typeof ResourceSchema> {
  return { kind: document.kind, name: document.metadata.name, json: writeResource(document) };
}
