import { PlatformError } from "../errors/platform-error.ts";
import type { UserIdentity } from "../identity/identity.ts";
import type { ServedKind } from "../kinds/service-kinds.ts";
import type { Lock } from "../resources/lock.ts";
import type { Role } from "../resources/role.ts";
import { type Ask, isServed, type JoinAsk, lockedPlace, type ServedAsk, type SshAsk } from "./ask.ts";
import { type DbUserRule, dbUserRule } from "./db-user-rule.ts";
import { findLock, lockedError } from "./find-lock.ts";
import { decideKube, noLoanError } from "./kube/decide-kube.ts";
import { type KubeAccess, kubeAccess } from "./kube/kube-access.ts";
import { hasSay, refusalOf, refuseRoute, refuseSourceIp, wantedOf } from "./refuse.ts";
import { demandingRole, mfaRequired, refuseMfaTarget } from "./session-mfa.ts";
import { type CommonRules, commonRules, maxConnections, type SessionRules, sessionRules } from "./session-rules.ts";

/** What the roles say beside their yes. */
interface Allowed {
  readonly rules: SessionRules | CommonRules | undefined;
  readonly most: number | undefined;
  readonly account: DbUserRule | undefined;
  readonly kube: KubeAccess | undefined;
}

/** Proof that `authorize` allowed exactly this. No shell or connection opens without one. */
class IssuedGrant {
  readonly #issued = true;
  readonly identity: UserIdentity;
  readonly ask: Ask;
  /** Rules for the user there; only in a grant for a service or a session. */
  readonly rules: SessionRules | CommonRules | undefined;
  /** Maximum concurrent connections of the user in the whole cluster. */
  readonly maxConnections: number | undefined;
  /** How the agent makes the user's account at a database; undefined: the account is there. */
  readonly account: DbUserRule | undefined;
  /** What the roles lend at a Kubernetes cluster; only in a grant for one. */
  readonly kube: KubeAccess | undefined;

  constructor({ identity, ask }: Pick<AuthorizeFacts, "identity" | "ask">, { rules, most, account, kube }: Allowed) {
    this.identity = identity;
    this.ask = ask;
    this.rules = rules;
    this.maxConnections = most;
    this.account = account;
    this.kube = kube;
  }

  static holds(value: unknown): boolean {
    return typeof value === "object" && value !== null && #issued in value && value.#issued;
  }
}
/** Exported as a type only: only `authorize` can create one. */
export type Grant = IssuedGrant;
export type SshGrant = Grant & { readonly ask: SshAsk & { readonly login: string }; readonly rules: SessionRules };
export type ServedGrant<Kind extends ServedKind> = Grant & {
  readonly ask: ServedAsk<Kind> & { readonly serverId: string };
  readonly rules: CommonRules;
} & (Kind extends "kube" ? { readonly kube: KubeAccess } : unknown);
export type JoinGrant = Grant & { readonly ask: Required<JoinAsk>; readonly rules: SessionRules };

export interface AuthorizeFacts {
  readonly identity: UserIdentity;
  /** The existing roles that the identity names. */
  readonly roles: readonly Role[];
  readonly ask: Ask;
  /** All locks: they are checked before any role. */
  readonly locks: readonly Lock[];
  /** IP address of the user; omitted or empty when not known. */
  readonly clientIp?: string | undefined;
  readonly now: Date;
  /** The connection is open already. Whether it ends with its certificate is up to a rule, `disconnect_expired_cert`: here the expiry does not count. */
  readonly isOpen?: true | undefined;
  /** A one-time code can still be asked for: a list of what a user may reach, or the choice of a host. Default: where roles demand one, it has been given. */
  readonly isBeforeMfa?: true | undefined;
  /** The agent decides with names that are not known here: roles demand a one-time code here only if none without such a demand allows this. */
  readonly isPartial?: true | undefined;
}

/**
 * The one access decision: default deny, a deny beats every allow, a lock beats all. Pure.
 * Throws PlatformError: `unauthenticated` when the identity has expired, `mfa_required` when only a one-time code is missing, `denied` with the
 * reason otherwise.
 */
export function authorize(facts: AuthorizeFacts & { ask: SshAsk & { login: string } }): SshGrant;
export function authorize<Kind extends ServedKind>(facts: AuthorizeFacts & { ask: ServedAsk<Kind> & { serverId: string } }): ServedGrant<Kind>;
export function authorize(facts: AuthorizeFacts & { ask: Required<JoinAsk> }): JoinGrant;
export function authorize(facts: AuthorizeFacts): Grant;
export function authorize({ identity, roles, ask, locks, clientIp, now, isOpen, isBeforeMfa, isPartial }: AuthorizeFacts): Grant {
  if (isOpen !== true) requireUnexpired(identity, now);
  const { name: user, userId, roles: named } = identity;
  const lock = findLock(locks, { user, userId, roles: named, now, ...lockedPlace(ask) });
  if (lock !== undefined) throw lockedError(lock);
  const astray = refuseRoute(identity, ask) ?? refuseMfaTarget(identity, ask);
  if (astray !== undefined) throw new PlatformError("denied", astray, { hint: "use the certificate of a login: tsh login" });
  const held = roles.filter((role) => identity.roles.includes(role.metadata.name));
  const elsewhere = refuseSourceIp(identity, held, clientIp);
  if (elsewhere !== undefined) throw elsewhere;
  const account = isServed(ask) ? dbUserRule(ask, { held, traits: identity.traits }) : undefined;
  const refusal = refusalOf(identity, held, ask, account !== undefined);
  if (refusal !== undefined) throw new PlatformError("denied", refusal);
  const kube = isServed(ask) && ask.kind === "kube" ? lentAt(identity, held, ask) : undefined;
  // A code is for the beginning of a session. It comes last: only users with access learn that one is needed.
  const isAsked = identity.mfa === undefined && isOpen !== true && isBeforeMfa !== true;
  const demanding = isAsked ? demandingRole(identity, held, ask, { ownAccount: account !== undefined, isPartial }) : undefined;
  if (demanding !== undefined) throw mfaRequired(ask, demanding);
  return new IssuedGrant({ identity, ask }, { rules: rulesOf({ identity, ask }, held, account), most: maxConnections(held), account, kube });
}

/** Throws `unauthenticated` when the identity's certificate has expired. */
export function requireUnexpired({ name, validBefore }: Pick<UserIdentity, "name" | "validBefore">, now: Date): void {
  if (now < validBefore) return;
  throw new PlatformError("unauthenticated", `the certificate of ${name} expired at ${validBefore.toISOString()}`, {
    hint: "log in again with: tsh login",
  });
}

/** What the roles lend at a Kubernetes cluster. Throws `denied` for nothing, and for a request that they do not allow. */
function lentAt(identity: UserIdentity, held: readonly Role[], { served, request }: ServedAsk): KubeAccess {
  const access = kubeAccess({ identity, held, cluster: served });
  if (access.loans.length === 0) throw noLoanError(access);
  if (request !== undefined) decideKube(access, request.ask, request.wanted);
  return access;
}

function rulesOf(
  { identity: { traits }, ask }: Pick<AuthorizeFacts, "identity" | "ask">,
  held: readonly Role[],
  account: DbUserRule | undefined,
): IssuedGrant["rules"] {
  const withSay = (service: SshAsk | ServedAsk): readonly Role[] => {
    const wanted = wantedOf(service, account !== undefined);
    return held.filter((role) => hasSay(role, wanted, traits));
  };
  if (isServed(ask)) return commonRules(ask.kind, withSay(ask));
  switch (ask.kind) {
    case "ssh":
      return ask.login === undefined ? undefined : sessionRules(withSay(ask), { held, traits });
    case "join":
      // No role restricts where joining happens: the options of all of them count.
      return ask.session === undefined ? undefined : sessionRules(held, { held, traits });
    case "resource":
      return undefined;
  }
}

/** Run-time side of the proof, for the edge where types end. */
export function isGrant(value: unknown): value is Grant {
  return IssuedGrant.holds(value);
}
