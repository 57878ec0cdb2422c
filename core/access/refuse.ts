import { PlatformError } from "../errors/platform-error.ts";
import type { Route, UserIdentity } from "../identity/identity.ts";
import { type LabelsCondition, type NamesCondition, serviceKinds } from "../kinds/service-kinds.ts";
import type { Labels } from "../resources/metadata.ts";
import type { JoinPolicy, Role } from "../resources/role.ts";
import type { JoinMode, SessionKind } from "../resources/session.ts";
import { type Ask, isServed, type ResourceAsk, type ServedAsk, type SshAsk } from "./ask.ts";
import { matchLabels, matchValue } from "./match-labels.ts";
import { expandDeniedNames, expandNames, includesName } from "./names.ts";
import { resourceRule } from "./resource-rule.ts";

/**
 * Why these roles, all that the user holds, do not allow this; undefined when they do. A deny beats every allow. `ownAccount`: the agent makes an account
 * for the user. Pure.
 */
export function refusalOf(identity: UserIdentity, roles: readonly Role[], ask: Ask, ownAccount = false): string | undefined {
  if (isServed(ask))
    return (ownAccount ? refuseAccount(identity, roles, ask) : undefined) ?? refuseService(identity, roles, wantedOf(ask, ownAccount));
  switch (ask.kind) {
    case "ssh":
      return refuseService(identity, roles, wantedOf(ask));
    case "join":
      return refuseJoin(identity, roles, ask);
    case "resource":
      return refuseResource(identity, roles, ask);
  }
}

/** Why these roles do not let the user reach a resource of a service; undefined when they do. Pure. */
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
  if (matching.length === 0) return `${who} reach ${name}: ${notAllowed(identity.roles, "its labels")}`;
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

/** Why an account that the agent makes is not for this user: it has the user's own name, and no role needs to list it. A deny counts. Pure. */
function refuseAccount({ name: user, traits }: UserIdentity, roles: readonly Role[], { served, names = {} }: ServedAsk): string | undefined {
  const { user: account } = names as { readonly user?: string };
  if (account === undefined) return undefined;
  if (account !== user) return `access denied: ${user} may connect to ${served.name} as ${user} only, the account that its agent makes`;
  const denying = roles.find(({ spec }) => includesName(expandDeniedNames(spec.deny?.db_users, traits), account));
  return denying && `access denied: ${user} may not connect as ${account}: role ${denying.metadata.name} denies it`;
}

/** What the user's roles do not allow. */
function notAllowed(roles: readonly string[], what: string): string {
  if (roles.length === 1) return `role ${roles.join("")} does not allow ${what}`;
  return roles.length === 0 ? `no role allows ${what}` : `none of the roles ${roles.join(", ")} allows ${what}`;
}

/** A requested resource of a service, in the form in which every kind is decided. */
interface Wanted {
  readonly name: string;
  readonly labels: Labels;
  readonly labelsCondition: LabelsCondition;
  readonly names: readonly WantedName[];
}

interface WantedName {
  readonly condition: NamesCondition;
  readonly noun: string;
  readonly verb: string;
  /** Omitted for any. */
  readonly value: string | undefined;
}

/** `ownAccount`: no role has to list the account. Pure. */
export function wantedOf(ask: SshAsk | ServedAsk, ownAccount = false): Wanted {
  const { labels: labelsCondition, names } = serviceKinds[ask.kind];
  const { name, labels } = isServed(ask) ? ask.served : ask.node;
  const values: Readonly<Record<string, string | undefined>> = isServed(ask) ? (ask.names ?? {}) : { login: ask.login };
  const without: readonly string[] = isServed(ask) ? (ask.without ?? []) : [];
  const asked = Object.entries<NameKind>(names).filter(
    ([parameter, { condition }]) => !without.includes(parameter) && !(ownAccount && condition === "db_users"),
  );
  const wantedNames = asked.map(([parameter, kind]) => ({ ...kind, value: values[parameter] }));
  return { name, labels, labelsCondition, names: wantedNames };
}

type NameKind = Omit<WantedName, "value">;

/**
 * Whether a role's options apply to this resource and these names: where it allows them, and where it does not restrict labels (or
 * names). So a role with only options binds its holder everywhere. Pure.
 */
export function hasSay({ spec: { allow } }: Role, { labels, labelsCondition, names }: Wanted, traits: UserIdentity["traits"]): boolean {
  const namesLabels = Object.keys(allow?.[labelsCondition] ?? {}).length > 0;
  if (namesLabels && !matchLabels(allow?.[labelsCondition], labels, { traits, unreadable: true })) return false;
  return names.every(({ condition, value }) => {
    const namesNames = (allow?.[condition] ?? []).length > 0;
    return value === undefined || !namesNames || includesName(expandNames(condition, allow?.[condition], traits), value);
  });
}

interface JoinFacts {
  readonly node: { readonly name: string };
  readonly session?: { readonly kind: SessionKind; readonly user: string; readonly roles: readonly string[]; readonly mode: JoinMode };
}

/**
 * Why this session may not be joined; undefined if it may. Users may always join their own; those of others where a role's `join_sessions` covers its
 * kind, one of the roles of its user and the mode, and none denies it. Pure.
 */
export function refuseJoin(identity: UserIdentity, roles: readonly Role[], { node, session }: JoinFacts): string | undefined {
  const who = `access denied: ${identity.name} may not join sessions`;
  // A user's own sessions need no role.
  if (session === undefined || session.user === identity.name) return undefined;
  const covers = (policies: readonly JoinPolicy[] | undefined, unreadable: boolean): boolean =>
    (policies ?? []).some(
      (policy) =>
        coversKind(policy, session.kind) &&
        (policy.modes.includes(session.mode) || policy.modes.includes("*")) &&
        session.roles.some((role) => policy.roles.some((pattern) => matchValue(pattern, role, unreadable))),
    );
  const denying = roles.find(({ spec }) => covers(spec.deny?.join_sessions, true));
  if (denying !== undefined) return `${who} of ${session.user} as ${session.mode}: role ${denying.metadata.name} denies it`;
  if (roles.some(({ spec }) => covers(spec.allow?.join_sessions, false))) return undefined;
  return `${who} of ${session.user} on ${node.name} as ${session.mode}: no role's join_sessions allows it`;
}

function coversKind({ kinds }: JoinPolicy, kind: SessionKind): boolean {
  return kinds.includes("*") || kinds.includes(kind) || (kind === "kube" && kinds.includes("k8s"));
}

function refuseResource(identity: UserIdentity, roles: readonly Role[], ask: ResourceAsk): string | undefined {
  const { denying, isAllowed } = resourceRule(roles, ask);
  if (denying !== undefined) return `access denied: role ${denying.metadata.name} denies ${identity.name} to ${ask.verb} ${ask.resource}`;
  if (isAllowed) return undefined;
  return `access denied: ${notAllowed(identity.roles, `${identity.name} to ${ask.verb} ${ask.resource}`)}`;
}

/** Why a certificate for one resource may not be used for this; undefined when it may, or when it has no such limit. Pure. */
export function refuseRoute({ name, route }: Pick<UserIdentity, "name" | "route">, ask: Ask): string | undefined {
  if (route === undefined || leadsTo(route, ask)) return undefined;
  const { kind, name: resource, account } = route;
  return `access denied: the certificate of ${name} is only for ${kind} ${JSON.stringify(resource)}${account === undefined ? "" : ` as ${account}`}`;
}

/** SSH has certificates of its own, which have no route; what is not served by an agent is for users without a limit. */
function leadsTo(route: Route, ask: Ask): boolean {
  if (!isServed(ask) || route.kind !== ask.kind || route.name !== ask.served.name) return false;
  const { user }: Readonly<Record<string, string | undefined>> = ask.names ?? {};
  // A name that is decided later is checked then.
  return route.account === undefined || user === route.account || (user === undefined && ask.without?.includes("user") === true);
}

/** Whether certificates of users with these roles are bound to the address of the login: one such role is enough. Pure. */
export function pinsSourceIp(roles: readonly Role[]): boolean {
  return roles.some(({ spec }) => spec.options?.pin_source_ip === true);
}

/**
 * Why a client at this address (empty or omitted when not known) may not use the identity. A role that binds certificates counts
 * at once: a certificate issued before without an address is refused. Pure.
 */
export function refuseSourceIp(identity: UserIdentity, roles: readonly Role[], clientIp: string | undefined): PlatformError | undefined {
  const { name, sourceIp, mfa } = identity;
  const hint = "log in from here with: tsh login";
  if (sourceIp === undefined) {
    if (!pinsSourceIp(roles)) return undefined;
    return new PlatformError("denied", `access denied: a role binds certificates of ${name} to an address (pin_source_ip), and this one has none`, {
      hint,
    });
  }
  if (sourceIp === clientIp) return undefined;
  const from = clientIp === undefined || clientIp === "" ? "the client's is not known here" : `the client is at ${clientIp}`;
  const bound = `access denied: the certificate of ${name} is bound to the address ${sourceIp}`;
  if (mfa !== undefined)
    return new PlatformError("denied", `${bound}, where its one-time code was given, and ${from}`, { hint: "connect again, with a new code" });
  return new PlatformError("denied", `${bound}, and ${from} (pin_source_ip)`, { hint });
}
