import { PlatformError } from "../../../core/errors/platform-error.ts";
import { baseName } from "../../../core/identity/cluster-names.ts";
import { type Node, nodeSchema } from "../../../core/resources/node.ts";
import type { Storage } from "../../storage/storage.ts";
import type { Actor } from "../actor.ts";
import type { AuthContext } from "../auth-context.ts";
import { fromEntry, named, type PutMode, toPut } from "../documents/document.ts";
import { findHost } from "./host-records.ts";

/** Prefix of the storage keys of hosts without an agent: code for agents does not see them. */
export const opensshPrefix = "/openssh_node/";

export function opensshKey(name: string): string {
  return `${opensshPrefix}${encodeURIComponent(name)}`;
}

export async function listOpensshNodes(storage: Storage): Promise<readonly Node[]> {
  return (await storage.list(opensshPrefix)).map((entry) => fromEntry(nodeSchema, entry));
}

export async function findOpensshNode(storage: Storage, name: string): Promise<Node | undefined> {
  const entry = await storage.get(opensshKey(name));
  return entry === undefined ? undefined : fromEntry(nodeSchema, entry);
}

/** Registers a host without an agent. Refused for the id or the name of a host with an agent: a target must mean one host. */
export async function putOpensshNode(context: AuthContext, node: Node, how: PutMode & { actor: Actor }): Promise<Node> {
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

export async function deleteOpensshNode(context: AuthContext, name: string, actor: Actor): Promise<void> {
  await named(`node ${name}`, context.storage.batch([{ key: opensshKey(name), expect: "present" }]));
  context.audit.emit({ event: "node.deleted", user: actor.name, name, "addr.remote": actor.address });
}

function taken(why: string): PlatformError {
  return new PlatformError("already_exists", why, { hint: "choose another name, or remove that host first: tctl nodes rm" });
}
