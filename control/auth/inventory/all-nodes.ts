import { PlatformError } from "../../../core/errors/platform-error.ts";
import { baseName } from "../../../core/identity/cluster-names.ts";
import { type Node, nodeSchema } from "../../../core/resources/node.ts";
import type { Storage } from "../../storage/storage.ts";
import type { AuthContext } from "../auth-context.ts";
import { type Actor, documentKey, fromEntry, named, type PutMode, toPut } from "../document.ts";
import { findHost, opensshPrefix } from "./host-records.ts";
import { deleteNode, getNode, listNodes, putNode } from "./nodes.ts";

function opensshKey(name: string): string {
  return `${opensshPrefix}${encodeURIComponent(name)}`;
}

/** Storage key of a document. */
export function storedKey({ kind, sub_kind: subKind, metadata }: { kind: string; sub_kind?: unknown; metadata: { name: string } }): string {
  return kind === "node" && subKind === "openssh" ? opensshKey(metadata.name) : documentKey(kind, metadata.name);
}

/** Hosts with and without an agent, which are one kind of resource to users. */
export async function listAllNodes(context: AuthContext): Promise<readonly Node[]> {
  return [...(await listNodes(context)), ...(await listOpensshNodes(context.storage))];
}

export async function getAnyNode(context: AuthContext, name: string): Promise<Node> {
  return (await findOpensshNode(context.storage, name)) ?? (await getNode(context, name));
}

export async function putAnyNode(context: AuthContext, node: Node, how: PutMode & { actor: Actor }): Promise<Node> {
  return await (node.sub_kind === "openssh" ? putOpensshNode : putNode)(context, node, how);
}

export async function deleteAnyNode(context: AuthContext, name: string, actor: Actor): Promise<void> {
  const isOpenssh = (await findOpensshNode(context.storage, name)) !== undefined;
  await (isOpenssh ? deleteOpensshNode : deleteNode)(context, name, actor);
}

/** Hosts without an agent. */
export async function listOpensshNodes(storage: Storage): Promise<readonly Node[]> {
  return (await storage.list(opensshPrefix)).map((entry) => fromEntry(nodeSchema, entry));
}

async function findOpensshNode(storage: Storage, name: string): Promise<Node | undefined> {
  const entry = await storage.get(opensshKey(name));
  return entry === undefined ? undefined : fromEntry(nodeSchema, entry);
}

/** Registers a host without an agent. Refused for the id or the name of a host with an agent: a target must mean one host. */
async function putOpensshNode(context: AuthContext, node: Node, how: PutMode & { actor: Actor }): Promise<Node> {
  const { storage } = context;
  const { name } = node.metadata;
  const base = (hostname: string): string => baseName(hostname, context.clusterName);
  const hostname = base(node.spec.hostname);
  if ((await findHost(storage, "node", name)) !== undefined) throw taken(`node ${name} has an agent`);
  const agents = (await storage.list("/node/")).map((entry) => fromEntry(nodeSchema, entry));
  if (agents.some(({ spec }) => base(spec.hostname) === hostname)) throw taken(`a host with an agent is already named ${node.spec.hostname}`);
  const others = (await listOpensshNodes(storage)).filter(({ metadata }) => metadata.name !== name);
  if (others.some(({ spec }) => base(spec.hostname) === hostname)) throw taken(`another node is already named ${node.spec.hostname}`);
  const entry = await named(`node ${name}`, storage.put({ ...toPut(node, how), key: opensshKey(name) }));
  context.audit.emit({ event: "node.updated", user: how.actor.name, name, "addr.remote": how.actor.address });
  return fromEntry(nodeSchema, entry);
}

async function deleteOpensshNode(context: AuthContext, name: string, actor: Actor): Promise<void> {
  await named(`node ${name}`, context.storage.batch([{ key: opensshKey(name), expect: "present" }]));
  context.audit.emit({ event: "node.deleted", user: actor.name, name, "addr.remote": actor.address });
}

function taken(why: string): PlatformError {
  return new PlatformError("already_exists", why, { hint: "choose another name, or remove that host first: tctl nodes rm" });
}
