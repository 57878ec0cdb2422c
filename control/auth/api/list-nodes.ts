import { authorize } from "../../../core/access/authorize.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Node } from "../../../core/resources/node.ts";
import { ipOf } from "../../../core/transport/ip-of.ts";
import { findNodes, type NodeFilter, type NodePage } from "../inventory/find-nodes.ts";
import { listLocks } from "../locks/locks.ts";
import { rolesNamed } from "../roles/roles.ts";
import type { Caller, UserCaller } from "./caller.ts";
import type { Api } from "./guard.ts";
import { requireRule } from "./permissions.ts";

/** Nodes that match: all of them if a rule lets the caller list nodes, for other users those that they may reach. */
export async function listNodesFor({ context }: Pick<Api, "context">, caller: Caller, wanted: NodeFilter & NodePage) {
  try {
    await requireRule(context, caller, { resource: "node", verb: "list" });
  } catch (thrown) {
    if (!isDenied(thrown) || caller.kind !== "user") throw thrown;
    return await findNodes(context, wanted, await mayReach({ context }, caller));
  }
  return await findNodes(context, wanted);
}

/** Whether a user's roles give any access to a node. */
export async function mayReach({ context }: Pick<Api, "context">, { identity, address }: UserCaller): Promise<(node: Node) => boolean> {
  const roles = await rolesNamed(context.storage, identity.roles);
  const locks = await listLocks(context.storage);
  const now = context.now();
  const clientIp = ipOf(address);
  return ({ metadata, spec }) => {
    const node = { id: metadata.name, name: spec.hostname, labels: metadata.labels ?? {} };
    try {
      authorize({ identity, roles, locks, ask: { kind: "ssh", node }, clientIp, now });
      return true;
    } catch (thrown) {
      if (isDenied(thrown)) return false;
      throw thrown;
    }
  };
}

export function isDenied(thrown: unknown): boolean {
  return thrown instanceof PlatformError && thrown.code === "denied";
}
