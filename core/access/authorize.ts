import { PlatformError } from "../errors/platform-error.ts";
import type { UserIdentity } from "../identity/identity.ts";
import type { Lock } from "../resources/lock.ts";
import type { Labels } from "../resources/metadata.ts";
import type { Role, Verb } from "../resources/role.ts";
import type { JoinMode } from "../resources/session.ts";
import { findLock, lockedError } from "./find-lock.ts";
import { expandDeniedLogins, expandLogins, includesLogin } from "./logins.ts";
import { matchLabels } from "./match-labels.ts";
import { refuseJoin } from "./refuse-join.ts";
import { maxConnections, type SessionRules, sessionRules } from "./session-rules.ts";
import { refuseSourceIp } from "./source-ip.ts";

/** What somebody asks for. A `login` left out asks whether there is any at all: control then routes, the agent decides. */
export interface SshAsk {
  readonly kind: "ssh";
  readonly node: { readonly id: string; readonly name: string; readonly labels: Labels };
  readonly login?: string;
}
export interface ResourceAsk {
  readonly kind: "resource";
  /** A resource kind: `role`, `user`, `token`, `node`, `event` … */
  readonly resource: string;
  readonly verb: Exclude<Verb, "*">;
}
/** To take part in a session that runs. A `session` left out asks only what holds for every session: no lock, a valid certificate. */
export interface JoinAsk {
  readonly kind: "join";
  readonly node: { readonly id: string; readonly name: string };
  readonly session?: { readonly user: string; readonly login: string; readonly roles: readonly string[]; readonly mode: JoinMode };
}
export type Ask = SshAsk | ResourceAsk | JoinAsk;

/** Proof that `authorize` allowed exactly this. Nothing opens a shell or a connection without one. */
class IssuedGrant {
  readonly #issued = true;
  readonly identity: UserIdentity;
  readonly ask: Ask;
  /** What the user may do there; of a grant for a login or a session only. */
  readonly rules: SessionRules | undefined;
  /** Connections that the user may have at a time over the whole cluster. */
  readonly maxConnections: number | undefined;

  constructor({ identity, ask }: Pick<AuthorizeFacts, "identity" | "ask">, rules: SessionRules | undefined, most: number | undefined) {
    this.identity = identity;
    this.ask = ask;
    this.rules = rules;
    this.maxConnections = most;
  }

  static holds(value: unknown): boolean {
    return typeof value === "object" && value !== null && #issued in value && value.#issued;
  }
}
/** Exported as a type only: `authorize` alone can make one. */
export type Grant = IssuedGrant;
export type SshGrant = Grant & { readonly ask: SshAsk & { readonly login: string }; readonly rules: SessionRules };
export type JoinGrant = Grant & { readonly ask: Required<JoinAsk>; readonly rules: SessionRules };

export interface AuthorizeFacts {
  readonly identity: UserIdentity;
  /** The roles that the identity names, as far as they exist now. */
  readonly roles: readonly Role[];
  readonly ask: Ask;
  /** All there are: they come before every role. */
  readonly locks: readonly Lock[];
  /** IP address that the user comes from; left out or empty: not known. */
  readonly clientIp?: string | undefined;
  readonly now: Date;
}

/**
 * The one access decision: default deny, a deny beats every allow, a lock beats all. Pure.
 * Throws PlatformError: `unauthenticated` when the identity has expired, `denied` with the reason otherwise.
 */
export function authorize(facts: AuthorizeFacts & { ask: SshAsk & { login: string } }): SshGrant;
export function authorize(facts: AuthorizeFacts & { ask: Required<JoinAsk> }): JoinGrant;
export function authorize(facts: AuthorizeFacts): Grant;
export function authorize({ identity, roles, ask, locks, clientIp, now }: AuthorizeFacts): Grant {
  if (now >= identity.validBefore) {
    throw new PlatformError("unauthenticated", `the certificate of ${identity.name} expired at ${identity.validBefore.toISOString()}`, {
      hint: "log in again with: tsh login",
    });
  }
  const { name: user, userId, roles: named } = identity;
  const lock = findLock(locks, { user, userId, roles: named, now, ...whereOf(ask) });
  if (lock !== undefined) throw lockedError(lock);
  const held = roles.filter((role) => identity.roles.includes(role.metadata.name));
  const elsewhere = refuseSourceIp(identity, held, clientIp);
  if (elsewhere !== undefined) throw elsewhere;
  const refusal = refusalOf(identity, held, ask);
  if (refusal !== undefined) throw new PlatformError("denied", refusal);
  const { traits } = identity;
  const most = maxConnections(held);
  // No role says where joining happens: the options of all of them count.
  if (ask.kind === "join" && ask.session !== undefined) return new IssuedGrant({ identity, ask }, sessionRules(held, { held, traits }), most);
  if (ask.kind !== "ssh" || ask.login === undefined) return new IssuedGrant({ identity, ask }, undefined, most);
  const withSay = held.filter((role) => hasSay(role, { ...ask, traits }));
  return new IssuedGrant({ identity, ask }, sessionRules(withSay, { held, traits }), most);
}

/** The login and the host that locks may name. */
function whereOf(ask: Ask): { readonly login?: string | undefined; readonly serverId?: string } {
  if (ask.kind === "ssh") return { login: ask.login, serverId: ask.node.id };
  return ask.kind === "join" ? { login: ask.session?.login, serverId: ask.node.id } : {};
}

function refusalOf(identity: UserIdentity, roles: readonly Role[], ask: Ask): string | undefined {
  switch (ask.kind) {
    case "ssh":
      return refuseSsh(identity, roles, ask);
    case "join":
      return refuseJoin(identity, roles, ask);
    case "resource":
      return refuseResource(identity, roles, ask);
  }
}

function refuseSsh(identity: UserIdentity, roles: readonly Role[], ask: SshAsk): string | undefined {
  const { node, login } = ask;
  const { traits } = identity;
  const who = `access denied: ${identity.name} may not`;
  for (const { metadata, spec } of roles) {
    if (matchLabels(spec.deny?.node_labels, node.labels, { traits, unreadable: true }))
      return `${who} reach ${node.name}: role ${metadata.name} denies its labels`;
    if (login !== undefined && includesLogin(expandDeniedLogins(spec.deny?.logins, traits), login)) {
      return `${who} log in as ${login}: role ${metadata.name} denies it`;
    }
  }
  const matching = roles.filter(({ spec }) => matchLabels(spec.allow?.node_labels, node.labels, { traits }));
  if (matching.length === 0) return `${who} reach ${node.name}: no role of ${listed(identity.roles)} allows its labels`;
  const logins = matching.flatMap(({ spec }) => expandLogins(spec.allow?.logins, traits));
  if (login === undefined) return logins.length > 0 ? undefined : `${who} reach ${node.name}: no role lists a login there`;
  if (!includesLogin(logins, login)) return `${who} log in as ${login} on ${node.name}: no role lists this login`;
  return undefined;
}

/**
 * Whether a role's options count for this login on this host: where it allows that, and where it does not say which hosts (or
 * logins) it is about. So a role of nothing but options binds its holder everywhere.
 */
function hasSay({ spec: { allow } }: Role, { node, login, traits }: SshAsk & { readonly traits: UserIdentity["traits"] }): boolean {
  const namesHosts = Object.keys(allow?.node_labels ?? {}).length > 0;
  if (namesHosts && !matchLabels(allow?.node_labels, node.labels, { traits, unreadable: true })) return false;
  const namesLogins = (allow?.logins ?? []).length > 0;
  return login === undefined || !namesLogins || includesLogin(expandLogins(allow?.logins, traits), login);
}

function refuseResource(identity: UserIdentity, roles: readonly Role[], ask: ResourceAsk): string | undefined {
  const covers = (rules: Role["spec"]["allow"]): boolean =>
    (rules?.rules ?? []).some(
      (rule) =>
        (rule.resources.includes(ask.resource) || rule.resources.includes("*")) && (rule.verbs.includes(ask.verb) || rule.verbs.includes("*")),
    );
  const denying = roles.find((role) => covers(role.spec.deny));
  if (denying !== undefined) return `access denied: role ${denying.metadata.name} denies ${identity.name} to ${ask.verb} ${ask.resource}`;
  if (roles.some((role) => covers(role.spec.allow))) return undefined;
  return `access denied: no role of ${listed(identity.roles)} allows ${identity.name} to ${ask.verb} ${ask.resource}`;
}

function listed(names: readonly string[]): string {
  return names.length > 0 ? names.join(", ") : "(none)";
}

/** Run-time side of the proof, for the edge where types end. */
export function isGrant(value: unknown): value is Grant {
  return IssuedGrant.holds(value);
}
