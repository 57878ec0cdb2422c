import type { Node } from "../../../core/resources/node.ts";
import type { Actor } from "../actor.ts";
import type { AuthContext } from "../auth-context.ts";
import { documentKey, type PutMode } from "../documents/document.ts";
import { deleteNode, getNode, listNodes, putNode } from "./nodes.ts";
import { deleteOpensshNode, findOpensshNode, listOpensshNodes, opensshKey, putOpensshNode } from "./openssh-nodes.ts";

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

/** Storage key of a document. */
export function storedKey({ kind, sub_kind: subKind, metadata }: { kind: string; sub_kind?: unknown; metadata: { name: string } }): string {
  return kind === "node" && subKind === "openssh" ? opensshKey(metadata.name) : documentKey(kind, metadata.name);
}
