import type { UserIdentity } from "../identity/identity.ts";
import type { JoinPolicy, Role } from "../resources/role.ts";
import type { JoinMode } from "../resources/session.ts";
import { matchValue } from "./match-labels.ts";

export interface JoinFacts {
  readonly node: { readonly name: string };
  readonly session?: { readonly user: string; readonly roles: readonly string[]; readonly mode: JoinMode };
}

/**
 * Why this session may not be joined; undefined if it may. Users may always join their own; those of others where a role's `join_sessions` covers one
 * of the roles of its user and the mode, and none denies it. Pure.
 */
export function refuseJoin(identity: UserIdentity, roles: readonly Role[], { node, session }: JoinFacts): string | undefined {
  const who = `access denied: ${identity.name} may not join sessions`;
  // A user's own sessions need no role.
  if (session === undefined || session.user === identity.name) return undefined;
  const covers = (policies: readonly JoinPolicy[] | undefined, unreadable: boolean): boolean =>
    (policies ?? []).some(
      (policy) =>
        (policy.modes.includes(session.mode) || policy.modes.includes("*")) &&
        session.roles.some((role) => policy.roles.some((pattern) => matchValue(pattern, role, unreadable))),
    );
  const denying = roles.find(({ spec }) => covers(spec.deny?.join_sessions, true));
  if (denying !== undefined) return `${who} of ${session.user} as ${session.mode}: role ${denying.metadata.name} denies it`;
  if (roles.some(({ spec }) => covers(spec.allow?.join_sessions, false))) return undefined;
  return `${who} of ${session.user} on ${node.name} as ${session.mode}: no role's join_sessions allows it`;
}
