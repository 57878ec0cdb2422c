import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServedAsk, SshAsk } from "../../../core/access/ask.ts";
import { mayOffer } from "../../../core/access/may-offer.ts";
import type { OfferedResourceSchema, OfferLimit, ResourceSchema } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { readOfferLimits } from "../../../core/api/offer-limits.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { directKinds, isServedKind, servedKinds, serviceKinds } from "../../../core/kinds/service-kinds.ts";
import { readDocument, resourceDocument, writeResource } from "../../../core/resources/document.ts";
import type { Node } from "../../../core/resources/node.ts";
import { maxOffered, type Offered, offeredSchema } from "../../../core/resources/offered.ts";
import { verbs } from "../../../core/resources/role.ts";
import type { OfferLimits } from "../../../core/resources/token.ts";
import type { AuthContext } from "../auth-context.ts";
import { checkDocument, type Document } from "../document.ts";
import { getAnyNode, storedKey } from "../inventory/all-nodes.ts";
import { compileFactsFilter, findNodes, type NodeFilter, type NodePage } from "../inventory/find-nodes.ts";
import { allowedServices, offerLimits, requireHost } from "../inventory/host-records.ts";
import { bestHealth, listOffered, type OfferedResource } from "../inventory/live-offered.ts";
import type { HostFacts } from "../inventory/query/query.ts";
import { createToken } from "../tokens/tokens.ts";
import { passkeysOf } from "../users/users.ts";
import { allowedAccounts } from "./allowed-accounts.ts";
import { actorOf, type Caller, hostOf } from "./caller.ts";
import { explainOwnDatabase } from "./explain-own-database.ts";
import type { Api, Handlers } from "./guard.ts";
import { isDenied, mayReach, needsCode, requireRule, servedBy } from "./permissions.ts";
import { resourceKind } from "./resource-kinds.ts";

type ResourceMethods = "createToken" | "listResources" | "getResource" | "putResource" | "deleteResource" | "checkPermission";

export function resourceMethods(api: Api): Handlers<ResourceMethods> {
  const { context } = api;
  return {
    createToken: async ({ roles, ttlSeconds, uses, secret, resources }, caller) => {
      const made = await createToken(context, { roles, ttlSeconds, uses, secret, resources: limitsOf(resources), actor: actorOf(caller) });
      return { secret: made.secret, token: message(made.token) };
    },
    listResources: async ({ kind, labels, search, query, limit, cursor, withSecrets }, caller) => {
      resourceKind(kind);
      if (kind === "node") {
        const page = await listNodesFor(api, caller, { labels, search, query, limit, cursor });
        return { resources: page.nodes.map(message), cursor: page.cursor };
      }
      if (Object.keys(labels).length > 0 || search.length > 0 || query !== "")
        throw new PlatformError("invalid", `filters are only supported for nodes, not for kind ${kind}`);
      await requireRule(context, caller, { resource: kind, verb: "list" });
      return await listDocuments(api, caller, { kind, withSecrets });
    },
    getResource: async ({ kind, name, withSecrets }, caller) => {
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
      const shown = await shownTo(api, caller, { kind, withSecrets });
      const document = shown(await found.get(context, name));
      if (document === undefined) throw new PlatformError("denied", `access denied: the join token of this host does not allow ${kind} ${name}`);
      return message(document);
    },
    putResource: async ({ json, overwrite, mustExist }, caller) => {
      const document = readDocument(resourceDocument, json);
      const kind = resourceKind(document.kind);
      const exists = (await context.storage.get(storedKey(document))) !== undefined;
      await requireRule(context, caller, { resource: document.kind, verb: exists ? "update" : "create" });
      return message(kind.hide(await kind.put(context, document, { overwrite, mustExist, actor: actorOf(caller) })));
    },
    checkPermission: async ({ kind, verb: asked }, caller) => {
      const verb = verbs.find((one) => one === asked);
      if (verb === undefined || verb === "*") throw new PlatformError("invalid", `unknown verb ${JSON.stringify(asked.slice(0, 64))}`);
      resourceKind(kind);
      await requireRule(context, caller, { resource: kind, verb });
      return {};
    },
    deleteResource: async ({ kind, name }, caller) => {
      const found = resourceKind(kind);
      const isOwn = kind === "node" && caller.kind === "host" && caller.identity.role === "node" && caller.identity.id === name;
      if (!isOwn) await requireRule(context, caller, { resource: kind, verb: "delete" });
      return { notes: [...(await found.delete(context, name, actorOf(caller)))] };
    },
  };
}

/** All documents of a kind, as the caller may see them. */
async function listDocuments(api: Api, caller: Caller, { kind, withSecrets }: { readonly kind: string; readonly withSecrets: boolean }) {
  const { context } = api;
  const shown = await shownTo(api, caller, { kind, withSecrets });
  const documents = (await resourceKind(kind).list(context)).flatMap((document) => shown(document) ?? []);
  const names = kind === "user" ? documents.map(({ metadata }) => metadata.name) : [];
  return { resources: documents.map(message), passkeys: await passkeysOf(context, names) };
}

/**
 * The view of documents that a caller gets. Secrets are in it for an agent that may offer the resource, which sees no other documents, and for a user with
 * the right to read the kind, on request.
 */
async function shownTo(
  { context }: Pick<Api, "context">,
  caller: Caller,
  { kind, withSecrets }: { readonly kind: string; readonly withSecrets: boolean },
): Promise<(document: Document) => Document | undefined> {
  const served = await servedBy(context, caller, kind);
  if (served !== undefined) return (document) => (served(document.metadata.name) ? document : undefined);
  if (!withSecrets) return resourceKind(kind).hide;
  await requireRule(context, caller, { resource: kind, verb: "read" });
  return (document) => document;
}

/** Throws `invalid` for a kind whose resources hosts do not offer. */
function limitsOf(limits: readonly OfferLimit[]): OfferLimits | undefined {
  if (limits.length === 0) return undefined;
  const unknown = limits.find(({ kind }) => !isServedKind(kind));
  if (unknown !== undefined) {
    throw new PlatformError("invalid", `hosts offer no resources of kind ${JSON.stringify(unknown.kind.slice(0, 64))}`, {
      hint: `kinds: ${servedKinds.join(", ")}`,
    });
  }
  return readOfferLimits(limits);
}

function message(document: Document): MessageInitShape<typeof ResourceSchema> {
  return { kind: document.kind, name: document.metadata.name, json: writeResource(document) };
}

/** Nodes that match: all of them if a rule lets the caller list nodes, for other users those that they may reach. */
async function listNodesFor({ context }: Pick<Api, "context">, caller: Caller, wanted: NodeFilter & NodePage) {
  try {
    await requireRule(context, caller, { resource: "node", verb: "list" });
  } catch (thrown) {
    if (!isDenied(thrown) || caller.kind !== "user") throw thrown;
    const reaches = await mayReach(context, caller);
    return await findNodes(context, wanted, (node) => reaches(anyLogin(node)));
  }
  return await findNodes(context, wanted);
}

/** Any login at all to a node. */
function anyLogin({ metadata, spec }: Node): SshAsk {
  return { kind: "ssh", node: { id: metadata.name, name: spec.hostname, labels: metadata.labels ?? {} } };
}

export function offeredMethods(api: Api): Handlers<"reportOffered" | "listOffered" | "explainOwnDatabase"> {
  const { context } = api;
  return {
    reportOffered: async ({ hostId, offered: reported }, caller) => {
      await requireHost(context.storage, "node", hostId);
      const { role, id } = hostOf(caller);
      if (role === "node") requireOwnOffers({ id, hostId }, reported);
      const bytes = reported.reduce(
        (sum, { kind, name, labels, details }) => sum + Buffer.byteLength(JSON.stringify({ kind, name, labels, details })),
        0,
      );
      if (reported.length > maxOffered.count || bytes > maxOffered.bytes) {
        throw new PlatformError("limit", `host ${hostId} offers more than ${maxOffered.count} resources, or more than ${maxOffered.bytes} bytes`);
      }
      if (role === "node") context.quotas.report(hostOf(caller), bytes);
      const allowed: readonly string[] = await allowedServices(context.storage, hostId);
      const limits = await offerLimits(context.storage, hostId);
      const offered = reported.map((one) => checkDocument(offeredSchema, one)).filter((one) => allowed.includes(one.kind) && mayOffer(limits, one));
      context.offered.report(hostId, offered, bytes, limits);
      return {};
    },
    listOffered: async ({ kind, labels: wanted, search, query }, caller) => {
      const matches = compileFactsFilter({ labels: wanted, search, query });
      let isVisible: (one: Offered, hostId: string) => boolean = () => true;
      let isAdmin = true;
      try {
        await requireRule(context, caller, { resource: "node", verb: "list" });
      } catch (thrown) {
        if (!isDenied(thrown) || caller.kind !== "user") throw thrown;
        isAdmin = false;
        const reaches = await mayReach(context, caller);
        isVisible = (one, serverId) => reachedIn(reaches, { ...one, serverId });
      }
      const isWanted = (one: Offered, hostId: string): boolean => (kind === "" || one.kind === kind) && isVisible(one, hostId);
      const listed = listOffered(context.offered, context.live, isWanted);
      const accountsAt = await allowedAccounts(context, caller);
      const codeNeeded = await codeAt(context, caller);
      const found = listed.filter((one) => (isAdmin || !one.isPassedOver) && matches(offeredFacts(one)));
      const listedOne = (one: OfferedResource) => {
        const { accounts, makesAccount } = accountsAt(one);
        return { ...offeredMessage(one), accounts: [...accounts], makesAccount, needsCode: codeNeeded(one) };
      };
      return { resources: found.map(listedOne) };
    },
    explainOwnDatabase: async ({ name, dbUser, dbName }, caller) => {
      if (caller.kind !== "user") throw new PlatformError("denied", "access denied: this method is for users");
      const { allowed, reason, roles } = await explainOwnDatabase(context, caller, { name, dbUser, dbName });
      return { allowed, reason, roles: [...roles] };
    },
  };
}

/** Names there are decided when they are used. */
function reachedIn(
  reaches: (ask: ServedAsk) => boolean,
  { kind, name, labels, serverId }: Pick<Offered, "kind" | "name" | "labels"> & { readonly serverId?: string },
): boolean {
  if (!isServedKind(kind)) return false;
  const ask = { kind, served: { name, labels }, without: Object.keys(serviceKinds[kind].names) };
  return reaches(serverId === undefined ? ask : { ...ask, serverId });
}

/** Where the caller's roles demand a one-time code for a session; nowhere for hosts. */
async function codeAt(context: AuthContext, caller: Caller): Promise<(one: Pick<Offered, "kind" | "name" | "labels">) => boolean> {
  if (caller.kind !== "user") return () => false;
  const needs = await needsCode(context, caller);
  return (one) => reachedIn(needs, one);
}

/** What an agent may report of its offers by itself: proxies report those of a tunnel. Throws `denied`. Pure. */
function requireOwnOffers({ id, hostId }: { readonly id: string; readonly hostId: string }, reported: readonly { readonly kind: string }[]): void {
  if (hostId !== id) throw new PlatformError("denied", "access denied: an agent may report only its own resources");
  const other = reported.find(({ kind }) => !directKinds.some((one) => one === kind));
  if (other === undefined) return;
  throw new PlatformError("denied", `access denied: resources of kind ${JSON.stringify(other.kind.slice(0, 64))} are offered through a tunnel alone`);
}

/** A resource has no id and no version; its status is its health. */
function offeredFacts({ name, labels, hosts }: OfferedResource): HostFacts {
  return { id: "", name, version: "", status: bestHealth(hosts), labels };
}

function offeredMessage({ kind, name, labels, details, hosts, unused }: OfferedResource): MessageInitShape<typeof OfferedResourceSchema> {
  return { unused, kind, name, labels: { ...labels }, details: { ...details }, hostIds: hosts.map(({ id }) => id), hosts: [...hosts] };
}
