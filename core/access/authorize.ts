import { PlatformError } from "../errors/platform-error.ts";
import type { UserIdentity } from "../identity/identity.ts";
import type { Labels } from "../resources/metadata.ts";
import type { Role, Verb } from "../resources/role.ts";
import { expandLogins } from "./logins.ts";
import { matchLabels } from "./match-labels.ts";

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
export type Ask = SshAsk | ResourceAsk;

/** Proof that `authorize` allowed exactly this. Nothing opens a shell or a connection without one. */
class IssuedGrant {
  readonly #issued = true;
  readonly identity: UserIdentity;
  readonly ask: Ask;

  constructor(identity: UserIdentity, ask: Ask) {
    this.identity = identity;
    this.ask = ask;
  }

  static holds(value: unknown): boolean {
    return typeof value === "object" && value !== null && #issued in value && value.#issued;
  }
}
/** Exported as a type only: `authorize` alone can make one. */
export type Grant = IssuedGrant;
export type SshGrant = Grant & { readonly ask: SshAsk & { readonly login: string } };

export interface AuthorizeFacts {
  readonly identity: UserIdentity;
  /** The roles that the identity names, as far as they exist now. */
  readonly roles: readonly Role[];
  readonly ask: Ask;
  readonly now: Date;
}

/**
 * The one access decision: default deny, a deny beats every allow. Pure.
 * Throws PlatformError: `unauthenticated` when the identity has expired, `denied` with the reason otherwise.
 */
export function authorize(facts: AuthorizeFacts & { ask: SshAsk & { login: string } }): SshGrant;
export function authorize(facts: AuthorizeFacts): Grant;
export function authorize({ identity, roles, ask, now }: AuthorizeFacts): Grant {
  if (now >= identity.validBefore) {
    throw new PlatformError("unauthenticated", `the certificate of ${identity.name} expired at ${identity.validBefore.toISOString()}`, {
      hint: "log in again with: tsh login",
    });
  }
  const held = roles.filter((role) => identity.roles.includes(role.metadata.name));
  const refusal = ask.kind === "ssh" ? refuseSsh(identity, held, ask) : refuseResource(identity, held, ask);
  if (refusal !== undefined) throw new PlatformError("denied", refusal);
  return new IssuedGrant(identity, ask);
}

function refuseSsh(identity: UserIdentity, roles: readonly Role[], ask: SshAsk): string | undefined {
  const { node, login } = ask;
  const who = `access denied: ${identity.name} may not`;
  for (const { metadata, spec } of roles) {
    if (matchLabels(spec.deny?.node_labels, node.labels)) return `${who} reach ${node.name}: role ${metadata.name} denies its labels`;
    if (login !== undefined && includesLogin(expandLogins(spec.deny?.logins, identity.traits), login)) {
      return `${who} log in as ${login}: role ${metadata.name} denies it`;
    }
  }
  const matching = roles.filter(({ spec }) => matchLabels(spec.allow?.node_labels, node.labels));
  if (matching.length === 0) return `${who} reach ${node.name}: no role of ${listed(identity.roles)} allows its labels`;
  const logins = matching.flatMap(({ spec }) => expandLogins(spec.allow?.logins, identity.traits));
  if (login === undefined) return logins.length > 0 ? undefined : `${who} reach ${node.name}: no role lists a login there`;
  if (!includesLogin(logins, login)) return `${who} log in as ${login} on ${node.name}: no role lists this login`;
  return undefined;
}

function includesLogin(logins: readonly string[], login: string): boolean {
  return logins.includes(login) || logins.includes("*");
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
