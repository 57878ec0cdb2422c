import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { z } from "zod";
import { authorize } from "../../../core/access/authorize.ts";
import type { AuthService, ResourceSchema } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { parseJson } from "../../../core/bytes/parse-json.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Node } from "../../../core/resources/node.ts";
import { ipOf } from "../../../core/transport/ip-of.ts";
import type { Actor } from "../auth-context.ts";
import { checkDocument, type Document, documentKey } from "../documents/document.ts";
import { getNode, listNodes } from "../inventory/nodes.ts";
import { listLocks } from "../locks/locks.ts";
import { rolesNamed } from "../roles/roles.ts";
import { createToken } from "../tokens/tokens.ts";
import { type Caller, callerName, type UserCaller } from "./caller.ts";
import { type Api, unary } from "./guard.ts";
import { requireRule } from "./permissions.ts";
import { resourceKind } from "./resource-kinds.ts";

type Methods = Pick<ServiceImpl<typeof AuthService>, "createToken" | "listResources" | "getResource" | "putResource" | "deleteResource">;

export function resourceMethods(api: Api): Methods {
  const { context } = api;
  return {
    createToken: unary(api, "createToken", async ({ roles, ttlSeconds, uses, secret }, caller) => {
      const made = await createToken(context, { roles, ttlSeconds, uses, secret, actor: actorOf(caller) });
      return { secret: made.secret, token: message(made.token) };
    }),
    listResources: unary(api, "listResources", async ({ kind }, caller) => {
      const found = resourceKind(kind);
      const documents = await orVisibleNodes(api, caller, { kind, verb: "list" }, () => found.list(context));
      return { resources: documents.map(message) };
    }),
    getResource: unary(api, "getResource", async ({ kind, name }, caller) => {
      const found = resourceKind(kind);
      const documents = await orVisibleNodes(api, caller, { kind, verb: "read", name }, async () => [await found.get(context, name)]);
      if (documents[0] === undefined) throw new PlatformError("not_found", `${kind} ${name} does not exist`);
      return message(documents[0]);
    }),
    putResource: unary(api, "putResource", async ({ json, overwrite, mustExist }, caller) => {
      const document = parse(json);
      const kind = resourceKind(document.kind);
      const exists = (await context.storage.get(documentKey(document.kind, document.metadata.name))) !== undefined;
      await requireRule(context, caller, { resource: document.kind, verb: exists ? "update" : "create" });
      return message(await kind.put(context, document, { overwrite, mustExist, actor: actorOf(caller) }));
    }),
    deleteResource: unary(api, "deleteResource", async ({ kind, name }, caller) => {
      const found = resourceKind(kind);
      await requireRule(context, caller, { resource: kind, verb: "delete" });
      await found.delete(context, name, actorOf(caller));
      return {};
    }),
  };
}

/** Users without a rule for nodes see those that they may reach; for any other kind the rule decides alone. */
async function orVisibleNodes(
  api: Api,
  caller: Caller,
  ask: { kind: string; verb: "list" | "read"; name?: string },
  all: () => Promise<readonly Document[]>,
): Promise<readonly Document[]> {
  try {
    await requireRule(api.context, caller, { resource: ask.kind, verb: ask.verb });
  } catch (thrown) {
    const denied = thrown instanceof PlatformError && thrown.code === "denied";
    if (!denied || ask.kind !== "node" || caller.kind !== "user") throw thrown;
    const nodes = ask.name === undefined ? await listNodes(api.context) : [await getNode(api.context, ask.name)];
    return await visible(api, caller, nodes);
  }
  return await all();
}

async function visible({ context }: Api, { identity, address }: UserCaller, nodes: readonly Node[]): Promise<readonly Node[]> {
  const roles = await rolesNamed(context.storage, identity.roles);
  const locks = await listLocks(context.storage);
  const now = context.now();
  const clientIp = ipOf(address);
  return nodes.filter(({ metadata, spec }) => {
    const node = { id: metadata.name, name: spec.hostname, labels: metadata.labels ?? {} };
    try {
      authorize({ identity, roles, locks, ask: { kind: "ssh", node }, clientIp, now });
      return true;
    } catch (thrown) {
      if (thrown instanceof PlatformError && thrown.code === "denied") return false;
      throw thrown;
    }
  });
}

const headSchema = z.looseObject({ kind: z.string().max(64), metadata: z.looseObject({ name: z.string().max(64) }) });

function parse(json: string): z.infer<typeof headSchema> {
  return checkDocument(headSchema, parseJson(json, "the resource"));
}

function message(document: Document): MessageInitShape<typeof ResourceSchema> {
  return { kind: document.kind, name: document.metadata.name, json: JSON.stringify(document) };
}

function actorOf(caller: Caller): Actor {
  return { name: callerName(caller), address: caller.address };
}
