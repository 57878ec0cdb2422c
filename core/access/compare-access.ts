import { type NamesCondition, type ServiceKind, serviceKinds } from "../kinds/service-kinds.ts";
import { ruleResources } from "../resources/resource-specs.ts";
import type { Role } from "../resources/role.ts";
import type { User } from "../resources/user.ts";
import { isServed, type ServedAsk, type SshAsk } from "./ask.ts";
import { decisionBy, refusalBy, traitsOf } from "./explain-access.ts";
import { abilityTexts } from "./kube/ability-texts.ts";
import { expandNames } from "./names.ts";
import { allowedVerbs } from "./resource-rule.ts";

/** What a user gains or loses at one resource. */
export interface AccessChange {
  /** `rule`: what the user may do with documents of the kind `name`. */
  readonly kind: ServiceKind | "rule";
  readonly name: string;
  readonly change: "gained" | "lost";
  /** Logins, database users or verbs; `*` is any. What may be done at a Kubernetes cluster. Empty for an application, which has no names. */
  readonly as: readonly string[];
}

export interface CompareFacts {
  readonly user: Pick<User, "metadata" | "spec">;
  /** The user before, if the user's traits change too. */
  readonly userBefore?: Pick<User, "metadata" | "spec">;
  /** Roles that the user holds, before and after. */
  readonly before: readonly Role[];
  readonly after: readonly Role[];
  /** The resources, each without a name at it. */
  readonly places: readonly (SshAsk | ServedAsk)[];
  readonly now: Date;
}

/** Names at a resource that are compared, and rules at a Kubernetes cluster; there may be more. */
const maxNames = 10;
const maxRules = 50;

/**
 * What a user could do with other roles and cannot do now, and the other way round, locks aside: each is a decision of `authorize`, for the names that the roles
 * list. Pure.
 */
export function compareAccess(facts: CompareFacts): readonly AccessChange[] {
  return [...facts.places.flatMap((place) => placeChanges(facts, place)), ...ruleChanges(facts)];
}

function placeChanges(facts: CompareFacts, place: SshAsk | ServedAsk): readonly AccessChange[] {
  const name = isServed(place) ? place.served.name : place.node.name;
  if (place.kind === "kube") return changesOf({ kind: place.kind, name }, kubeAbilities(facts, place));
  const asks = namedAsks(facts, place);
  const [had, has] = sidesOf(facts).map(({ user, roles }) => asks.filter(({ ask }) => isAllowed({ ...facts, user }, roles, ask)));
  return changesOf({ kind: place.kind, name }, { had: had?.map(({ as }) => as) ?? [], has: has?.map(({ as }) => as) ?? [] });
}

/** What roles lend at a Kubernetes cluster. What one set of roles denies and the other does not counts as an ability of the other. */
function kubeAbilities(facts: CompareFacts, place: ServedAsk): { readonly had: readonly string[]; readonly has: readonly string[] } {
  const [before, after] = sidesOf(facts).map(({ user, roles }) => {
    const held = roles.map(({ metadata }) => metadata.name);
    const decision = decisionBy({ user, ask: place, locks: [], now: facts.now }, roles, held);
    return abilityTexts("grant" in decision && decision.grant.kube !== undefined ? decision.grant.kube : { loans: [], denied: [] });
  });
  const isUsed = (texts: typeof before): boolean => (texts?.lent.length ?? 0) > 0;
  const denied = (texts: typeof before): readonly string[] => (isUsed(before) && isUsed(after) ? (texts?.denied ?? []) : []);
  return {
    had: [...(before?.lent ?? []), ...denied(after)].slice(0, maxRules),
    has: [...(after?.lent ?? []), ...denied(before)].slice(0, maxRules),
  };
}

interface NamedAsk {
  /** Empty: the resource has no names. */
  readonly as: string;
  readonly ask: SshAsk | ServedAsk;
}

/** The user with the roles of before, and with those of after. */
function sidesOf({
  user,
  userBefore = user,
  before,
  after,
}: CompareFacts): readonly { readonly user: CompareFacts["user"]; readonly roles: readonly Role[] }[] {
  return [
    { user: userBefore, roles: before },
    { user, roles: after },
  ];
}

function namedAsks(facts: CompareFacts, place: SshAsk | ServedAsk): readonly NamedAsk[] {
  if (place.kind === "app") return [{ as: "", ask: place }];
  const condition: NamesCondition = place.kind === "ssh" ? serviceKinds.ssh.names.login.condition : serviceKinds.db.names.user.condition;
  const listed = sidesOf(facts).flatMap(({ user, roles }) =>
    roles.flatMap(({ spec }) => expandNames(condition, spec.allow?.[condition], traitsOf(user))),
  );
  const own = isServed(place) && place.makesAccounts === true ? [facts.user.metadata.name] : [];
  const names = [...new Set([...own, ...listed])].sort().slice(0, maxNames);
  // The name of the database is chosen when it is used.
  return names.map((as) => ({ as, ask: isServed(place) ? { ...place, names: { user: as }, without: ["name"] } : { ...place, login: as } }));
}

function isAllowed({ user, now }: CompareFacts, roles: readonly Role[], ask: SshAsk | ServedAsk): boolean {
  const held = roles.map(({ metadata }) => metadata.name);
  return refusalBy({ user, ask, locks: [], now }, roles, held) === undefined;
}

function ruleChanges({ before, after }: CompareFacts): readonly AccessChange[] {
  const [had, has] = [allowedVerbs(before, ruleResources), allowedVerbs(after, ruleResources)];
  return ruleResources.flatMap((name) => changesOf({ kind: "rule", name }, { had: had[name] ?? [], has: has[name] ?? [] }));
}

function changesOf(
  place: Pick<AccessChange, "kind" | "name">,
  { had, has }: { readonly had: readonly string[]; readonly has: readonly string[] },
): readonly AccessChange[] {
  const lists = { gained: has.filter((name) => !had.includes(name)), lost: had.filter((name) => !has.includes(name)) };
  return (["gained", "lost"] as const).flatMap((change) => {
    const names = lists[change];
    if (names.length === 0) return [];
    return [{ ...place, change, as: names.includes("*") ? ["*"] : names.filter((name) => name !== "") }];
  });
}
