import { z } from "zod";
import { authorizeJoin, joinableModes } from "../../../core/access/authorize-join.ts";
import { findLock, lockedError } from "../../../core/access/find-lock.ts";
import type { MfaTarget } from "../../../core/access/session-mfa.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { isServedKind, type ServedKind, serviceKinds } from "../../../core/kinds/service-kinds.ts";
import { loginText } from "../../../core/resources/metadata.ts";
import type { Node } from "../../../core/resources/node.ts";
import { ipOf } from "../../../core/transport/host-port.ts";
import { listLocks } from "../access/locks.ts";
import { rolesNamed } from "../access/roles.ts";
import { type Caller, callerName, type UserCaller } from "../api/caller.ts";
import { mayReach } from "../api/permissions.ts";
import type { AuthContext } from "../auth-context.ts";
import { listOffered } from "../inventory/live-offered.ts";
import { nodesMeant } from "../inventory/nodes-meant.ts";
import { type Confirmation, confirmSession, recordUnconfirmed } from "../login/confirm-session.ts";
import { findActiveSession } from "../sessions/active-sessions.ts";
import { routeOf } from "./sign-user.ts";

/** The resource that a session is with, as its user names it. */
export interface TargetAsk extends MfaTarget {
  /** Unix login on a host: of several with this name, the one that the user may log in to as this. Empty: any. */
  readonly login: string;
  /** The only account at a database; empty: any. */
  readonly account: string;
}

/** What a session is with, and whether its user can be bound to an address there. */
export interface SessionTarget extends MfaTarget {
  readonly seesAddress: boolean;
}

export interface ConfirmedTarget extends SessionTarget {
  readonly caller: UserCaller;
  /** What confirmed the session. */
  readonly device: string;
}

export interface TargetConfirmation {
  readonly caller: Caller;
  readonly ask: TargetAsk;
  readonly confirmation: Confirmation;
  /** The caller, if sessions are confirmed for it here. Throws `denied`. */
  readonly allowed: (caller: Caller) => UserCaller;
}

/**
 * The resource of a session that its user has confirmed. What the roles allow is decided when the session is opened. Throws `denied`, `not_found`, `conflict`, `invalid`
 * before the confirmation is used up; then as `confirmSession`. Refusals are recorded.
 */
export async function confirmTarget(context: AuthContext, { caller, ask, confirmation, allowed }: TargetConfirmation): Promise<ConfirmedTarget> {
  const { address } = caller;
  let found: { readonly user: UserCaller; readonly target: SessionTarget };
  try {
    const user = allowed(caller);
    found = { user, target: await targetOf(context, ask, user) };
  } catch (thrown) {
    recordUnconfirmed(context, { user: callerName(caller), confirmation, address, target: ask }, thrown);
    throw thrown;
  }
  const { user, target } = found;
  const { name, userId, roles } = user.identity;
  const device = await confirmSession(context, { user: name, confirmation, address, target });
  // A lock may have come while the confirmation was on its way.
  const lock = findLock(await listLocks(context.storage), { user: name, userId, roles, now: context.now() });
  if (lock !== undefined) throw lockedError(lock);
  return { ...target, caller: user, device };
}

async function targetOf(context: AuthContext, { kind, name, login, account }: TargetAsk, caller: UserCaller): Promise<SessionTarget> {
  if (isServedKind(kind)) {
    routeOf({ routeKind: kind, routeName: name, routeAccount: account });
    await requireOffered(context, { kind, name }, caller);
    return { kind, name, seesAddress: true };
  }
  if (kind === "join" && z.uuid().safeParse(name).success) {
    await requireJoinable(context, name, caller);
    return { kind, name, seesAddress: true };
  }
  if (kind !== "ssh" || name === "") {
    throw new PlatformError("invalid", `a code cannot confirm a session with ${JSON.stringify(`${kind} ${name}`.slice(0, 80))}`);
  }
  if (login !== "" && !loginText.safeParse(login).success) throw new PlatformError("invalid", "the login is not one of a Unix host");
  const { metadata, sub_kind: subKind } = await onlyHost(context, { name, login }, caller);
  // The sshd of a host without an agent sees the proxy's address.
  return { kind, name: metadata.name, seesAddress: subKind !== "openssh" };
}

/** Throws `not_found` for a resource that no connected agent offers, and for one that the user may not reach. */
async function requireOffered(
  context: AuthContext,
  { kind, name }: { readonly kind: ServedKind; readonly name: string },
  caller: UserCaller,
): Promise<void> {
  const may = await mayReach(context, caller);
  const found = listOffered(
    context.offered,
    context.live,
    ({ kind: one, name: named, labels }, serverId) => one === kind && named === name && may({ kind, served: { name, labels }, serverId }),
  );
  if (found.some(({ isPassedOver }) => !isPassedOver)) return;
  const { noun } = serviceKinds[kind].served;
  throw new PlatformError("not_found", `no ${noun} named ${JSON.stringify(name.slice(0, 64))} that you may reach`, {
    hint: "its agent may be offline: try again in a moment, or ask an admin for access",
  });
}

/** Throws `not_found` for a session that does not run, and for one that the user may not join in any mode. */
async function requireJoinable(context: AuthContext, sid: string, { identity, address }: UserCaller): Promise<void> {
  const session = await findActiveSession(context, sid);
  const roles = await rolesNamed(context.storage, identity.roles);
  const [mode = "observer"] = session === undefined ? [] : joinableModes(identity, roles, session);
  const locks = await listLocks(context.storage);
  authorizeJoin({ identity, roles, locks, clientIp: ipOf(address), now: context.now(), sid, mode, session, isBeforeMfa: true });
}

/** The only host that the user may mean and reach: a confirmation is for one. Hosts that the user may not reach are never named. */
async function onlyHost(context: AuthContext, { name, login }: Pick<TargetAsk, "name" | "login">, caller: UserCaller): Promise<Node> {
  const may = await mayReach(context, caller);
  const nodes = (await nodesMeant(context, name)).filter(({ metadata, spec }) =>
    may({ kind: "ssh", node: { id: metadata.name, name: spec.hostname, labels: metadata.labels ?? {} }, ...(login !== "" && { login }) }),
  );
  const [only, second] = nodes;
  const named = JSON.stringify(name.slice(0, 64));
  if (only === undefined) throw new PlatformError("not_found", `no host named ${named} that you may reach`, { hint: "list your hosts with: tsh ls" });
  if (second !== undefined)
    throw new PlatformError("conflict", `${nodes.length} hosts are named ${named}`, { hint: "use the id of the one that you mean" });
  return only;
}
