import { PlatformError } from "../errors/platform-error.ts";
import type { UserIdentity } from "../identity/identity.ts";
import type { Role } from "../resources/role.ts";
import { type JoinMode, joinModes, type SessionKind, type SessionPod } from "../resources/session.ts";
import { type AuthorizeFacts, authorize, type JoinGrant } from "./authorize.ts";
import { refuseJoin } from "./refuse.ts";

/** A running session, as needed for joining. */
export interface JoinTarget {
  readonly kind: SessionKind;
  readonly server_id: string;
  readonly server_name: string;
  readonly user: string;
  readonly roles: readonly string[];
  readonly login: string;
  /** Of a session of kind `kube`. */
  readonly pod?: SessionPod | undefined;
}

export interface JoinFacts extends Omit<AuthorizeFacts, "ask"> {
  readonly sid: string;
  readonly mode: JoinMode;
  /** Undefined when none runs under this id. */
  readonly session: JoinTarget | undefined;
}

/**
 * Whether a user may join this session in this mode. A session that the user may not join in any mode is refused like one that
 * does not exist; the reason is then in the cause. Throws PlatformError. Pure.
 */
export function authorizeJoin({ sid, mode, session, ...facts }: JoinFacts): JoinGrant {
  // Checks that apply to every session come first: they reveal nothing about any of them.
  authorize({ ...facts, ask: { kind: "join", node: { id: "", name: "" } } });
  if (session === undefined) throw unseen(sid, "no such session runs");
  const node = { id: session.server_id, name: session.server_name };
  const { kind, user, login, roles, pod } = session;
  if (joinableModes(facts.identity, facts.roles, session).length === 0) {
    const held = facts.roles.filter(({ metadata }) => facts.identity.roles.includes(metadata.name));
    throw unseen(sid, refuseJoin(facts.identity, held, { node, session: { kind, user, roles, mode } }) ?? "");
  }
  return authorize({ ...facts, ask: { kind: "join", node, session: { sid, kind, user, login, roles, mode, ...(pod && { pod }) } } });
}

/** The modes in which a user may join a session, by roles alone. Pure. */
export function joinableModes(identity: UserIdentity, roles: readonly Role[], session: JoinTarget): readonly JoinMode[] {
  const held = roles.filter(({ metadata }) => identity.roles.includes(metadata.name));
  const node = { name: session.server_name };
  const { kind, user, roles: ownerRoles } = session;
  return joinModes.filter((mode) => refuseJoin(identity, held, { node, session: { kind, user, roles: ownerRoles, mode } }) === undefined);
}

/** Why a join was refused, for the audit log, including reasons hidden from the user. Pure. */
export function joinRefusal(error: PlatformError): string {
  return error.cause instanceof PlatformError ? error.cause.message : error.message;
}

function unseen(sid: string, reason: string): PlatformError {
  return new PlatformError("not_found", `there is no running session ${JSON.stringify(sid.slice(0, 64))} that you may join`, {
    hint: "run tsh sessions ls to list the sessions that you may see",
    cause: new PlatformError("denied", reason),
  });
}
