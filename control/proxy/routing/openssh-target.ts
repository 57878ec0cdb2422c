import { authorize } from "../../../core/access/authorize.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { canonicalName, namesMeant } from "../../../core/identity/cluster-names.ts";
import { sshLogins, type UserIdentity } from "../../../core/identity/identity.ts";
import type { Lock } from "../../../core/resources/lock.ts";
import type { Node } from "../../../core/resources/node.ts";
import type { Role } from "../../../core/resources/role.ts";
import type { OpensshTarget } from "./target.ts";

/** The user, and the facts for the decision. */
export interface RouteFacts {
  readonly identity: UserIdentity;
  readonly roles: readonly Role[];
  readonly locks: readonly Lock[];
  readonly clientIp: string;
  readonly now: Date;
}

/** The hosts without an agent that match a target: an id, a name, or either followed by `.cluster`. Pure. */
export function findOpenssh(nodes: readonly Node[], target: string, cluster: string): readonly OpensshTarget[] {
  const names = new Set(namesMeant(target, cluster));
  return nodes.flatMap(({ metadata, spec }) => {
    const isMeant = names.has(canonicalName(metadata.name)) || names.has(canonicalName(spec.hostname));
    if (!isMeant || spec.addr === undefined) return [];
    const facts = { hostname: spec.hostname, labels: metadata.labels ?? {} };
    return [{ via: "sshd", identity: { id: metadata.name }, facts, peer: spec.addr }];
  });
}

/**
 * None of our programs on that host checks the login, and its sshd accepts every login in the certificate. So each of them must be allowed
 * there: a login that the roles allow only on other hosts would work. Throws `denied`. Pure.
 */
export function requireEveryLogin(target: OpensshTarget, { identity, roles, locks, clientIp, now }: RouteFacts): void {
  const node = { id: target.identity.id, name: target.facts.hostname, labels: target.facts.labels };
  for (const login of sshLogins(identity)) {
    try {
      authorize({ identity, roles, locks, ask: { kind: "ssh", node, login }, clientIp, now });
    } catch (thrown) {
      if (!(thrown instanceof PlatformError) || thrown.code !== "denied") throw thrown;
      throw new PlatformError("denied", `${thrown.message}; ${node.name} has no agent that could refuse this login of the certificate`, {
        cause: thrown,
        hint: "a host without an agent is reachable only for users whose roles allow all their logins there",
      });
    }
  }
}
