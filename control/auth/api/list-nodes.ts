import type { SshAsk } from "../../../core/access/ask.ts";
import type { Node } from "../../../core/resources/node.ts";
import { findNodes, type NodeFilter, type NodePage } from "../inventory/find-nodes.ts";
import type { Caller } from "./caller.ts";
import type { Api } from "./guard.ts";
import { isDenied, mayReach, requireRule } from "./permissions.ts";

/** Nodes that match: all of them if a rule lets the caller list nodes, for other users those that they may reach. */
export async function listNodesFor({ context }: Pick<Api, "context">, caller: Caller, wanted: NodeFilter & NodePage) {
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
export function anyLogin({ metadata, spec }: Node): SshAsk {
  return { kind: "ssh", node: { id: metadata.name, name: spec.hostname, labels: metadata.labels ?? {} } };
}
