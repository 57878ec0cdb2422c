import { PlatformError } from "../errors/platform-error.ts";
import type { Route, UserIdentity } from "../identity/identity.ts";
import { type LabelsCondition, type NamesCondition, type ServedKind, serviceKinds } from "../kinds/service-kinds.ts";
import type { Lock } from "../resources/lock.ts";
import type { Labels } from "../resources/metadata.ts";
import type { Role } from "../resources/role.ts";
import { type Ask, isServed, type JoinAsk, lockedPlace, type ResourceAsk, type ServedAsk, type SshAsk } from "./ask.ts";
import { findLock, lockedError } from "./find-lock.ts";
import { matchLabels } from "./match-labels.ts";
import { expandDeniedNames, expandNames, includesName } from "./names.ts";
import { refuseJoin } from "./refuse-join.ts";
import { type CommonRules, commonRules, maxConnections, type SessionRules, sessionRules } from "./session-rules.ts";
import { refuseSourceIp } from "./source-ip.ts";

/** Proof that `authorize` allowed exactly this. No shell or connection opens without one. */
class IssuedGrant {
  readonly #issued = true;
  readonly identity: UserIdentity;
  readonly ask: Ask;
  /** Rules for the user there; only in a grant for a service or a session. */
  readonly rules: SessionRules | CommonRules | undefined;
  /** Maximum concurrent connections of the user in the whole cluster. */
  readonly maxConnections: number | undefined;

  constructor({ identity, ask }: Pick<AuthorizeFacts, "identity" | "ask">, rules: IssuedGrant["rules"], most: number | undefined) {
    this.identity = identity;
    this.ask = ask;
    this.rules = rules;
    this.maxConnections = most;
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
};
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
}

/**
 * The one access decision: default deny, a deny beats every allow, a lock beats all. Pure.
 * Throws PlatformError: `unauthenticated` when the identity has expired, `denied` with the reason otherwise.
 */
export function authorize(facts: AuthorizeFacts & { ask: SshAsk & { login: string } }): SshGrant;
export function authorize<Kind extends ServedKind>(facts: AuthorizeFacts & { ask: ServedAsk<Kind> & { serverId: string } }): ServedGrant<Kind>;
export function authorize(facts: AuthorizeFacts & { ask: Required<JoinAsk> }): JoinGrant;
export function authorize(facts: AuthorizeFacts): Grant;
export function authorize({ identity, roles, ask, locks, clientIp, now }: AuthorizeFacts): Grant {
  if (now >= identity.validBefore) {
    throw new PlatformError("unauthenticated", `the certificate of ${identity.name} expired at ${identity.validBefore.toISOString()}`, {
      hint: "log in again with: tsh login",
    });
  }
  const { name: user, userId, roles: named } = identity;
  const lock = findLock(locks, { user, userId, roles: named, now, ...lockedPlace(ask) });
  if (lock !== undefined) throw lockedError(lock);
  const astray = refuseRoute(identity, ask);
  if (astray !== undefined) throw new PlatformError("denied", astray, { hint: "use the certificate of a login: tsh login" });
  const held = roles.filter((role) => identity.roles.includes(role.metadata.name));
  const elsewhere = refuseSourceIp(identity, held, clientIp);
  if (elsewhere !== undefined) throw elsewhere;
  const refusal = refusalOf(identity, held, ask);
  if (refusal !== undefined) throw new PlatformError("denied", refusal);
  return new IssuedGrant({ identity, ask }, rulesOf(identity, held, ask), maxConnections(held));
}

function rulesOf(identity: UserIdentity, held: readonly Role[], ask: Ask): IssuedGrant["rules"] {
  const { traits } = identity;
  const withSay = (service: SshAsk | ServedAsk): readonly Role[] => {
    const wanted = wantedOf(service);
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

function refusalOf(identity: UserIdentity, roles: readonly Role[], ask: Ask): string | undefined {
  if (isServed(ask)) return refuseService(identity, roles, wantedOf(ask));
  switch (ask.kind) {
    case "ssh":
      return refuseService(identity, roles, wantedOf(ask));
    case "join":
      return refuseJoin(identity, roles, ask);
    case "resource":
      return refuseResource(identity, roles, ask);
  }
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

/** Run-time side of the proof, for the edge where types end. */
export function isGrant(value: unknown): value is Grant {
  return IssuedGrant.holds(value);
}

/** Why a certificate for one resource may not be used for this; undefined when it may, or when it has no such limit. Pure. */
function refuseRoute({ name, route }: Pick<UserIdentity, "name" | "route">, ask: Ask): string | undefined {
  if (route === undefined || leadsTo(route, ask)) return undefined;
  return `access denied: the certificate of ${name} is only for ${route.kind} ${JSON.stringify(route.name)}`;
}

/** SSH has certificates of its own, which have no route; what is not served by an agent is for users without a limit. */
function leadsTo(route: Route, ask: Ask): boolean {
  return isServed(ask) && route.kind === ask.kind && route.name === ask.served.name;
}

/** Why these roles do not let the user reach a resource of a service; undefined when they do. A deny beats every allow. Pure. */
function refuseService(identity: UserIdentity, roles: readonly Role[], wanted: Wanted): string | undefined {
  const { name, labels, labelsCondition, names } = wanted;
  const { traits } = identity;
  const who = `access denied: ${identity.name} may not`;
  for (const { metadata, spec } of roles) {
    if (matchLabels(spec.deny?.[labelsCondition], labels, { traits, unreadable: true }))
      return `${who} reach ${name}: role ${metadata.name} denies its labels`;
    const denied = names.find(
      ({ condition, value }) => value !== undefined && includesName(expandDeniedNames(spec.deny?.[condition], traits), value),
    );
    if (denied !== undefined) return `${who} ${denied.verb} ${denied.value}: role ${metadata.name} denies it`;
  }
  const matching = roles.filter(({ spec }) => matchLabels(spec.allow?.[labelsCondition], labels, { traits }));
  if (matching.length === 0) return `${who} reach ${name}: no role of ${listed(identity.roles)} allows its labels`;
  const lists = (role: Role, { condition, value }: WantedName): boolean => {
    const allowed = expandNames(condition, role.spec.allow?.[condition], traits);
    return value === undefined ? allowed.length > 0 : includesName(allowed, value);
  };
  // A single role has to allow all of it.
  if (matching.some((role) => names.every((one) => lists(role, one)))) return undefined;
  const unlisted = names.find((one) => !matching.some((role) => lists(role, one)));
  if (unlisted === undefined) return `${who} reach ${name}: no role allows ${names.map(({ noun }) => noun).join(" and ")} together`;
  const { verb, noun, value } = unlisted;
  return value === undefined
    ? `${who} reach ${name}: no role lists a ${noun} there`
    : `${who} ${verb} ${value} on ${name}: no role lists this ${noun}`;
}

/**
 * Whether a role's options apply to this resource and these names: where it allows them, and where it does not restrict labels (or
 * names). So a role with only options binds its holder everywhere. Pure.
 */
function hasSay({ spec: { allow } }: Role, { labels, labelsCondition, names }: Wanted, traits: UserIdentity["traits"]): boolean {
  const namesLabels = Object.keys(allow?.[labelsCondition] ?? {}).length > 0;
  if (namesLabels && !matchLabels(allow?.[labelsCondition], labels, { traits, unreadable: true })) return false;
  return names.every(({ condition, value }) => {
    const namesNames = (allow?.[condition] ?? []).length > 0;
    return value === undefined || !namesNames || includesName(expandNames(condition, allow?.[condition], traits), value);
  });
}

function listed(names: readonly string[]): string {
  return names.length > 0 ? names.join(", ") : "(none)";
}

/** A requested resource of a service, in the form in which every kind is decided. */
interface Wanted {
  readonly name: string;
  readonly labels: Labels;
  readonly labelsCondition: LabelsCondition;
  readonly names: readonly WantedName[];
  /** Id of the host that serves it, if known. */
  readonly serverId?: string | undefined;
}

interface WantedName {
  readonly condition: NamesCondition;
  readonly noun: string;
  readonly verb: string;
  /** Omitted for any. */
  readonly value: string | undefined;
}

/** Pure. */
function wantedOf(ask: SshAsk | ServedAsk): Wanted {
  const { labels: labelsCondition, names } = serviceKinds[ask.kind];
  const { name, labels } = isServed(ask) ? ask.served : ask.node;
  const values: Readonly<Record<string, string | undefined>> = isServed(ask) ? (ask.names ?? {}) : { login: ask.login };
  const wantedNames = Object.entries<NameKind>(names).map(([parameter, kind]) => ({ ...kind, value: values[parameter] }));
  return { name, labels, labelsCondition, names: wantedNames, serverId: isServed(ask) ? ask.serverId : ask.node.id };
}

type NameKind = Omit<WantedName, "value">;
