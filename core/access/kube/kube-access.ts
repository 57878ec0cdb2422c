import type { UserIdentity } from "../../identity/identity.ts";
import { kubeSubjectText } from "../../resources/kube-rule.ts";
import type { Labels } from "../../resources/metadata.ts";
import type { Role } from "../../resources/role.ts";
import type { Traits } from "../../resources/user.ts";
import { matchLabels } from "../match-labels.ts";
import { expandDeniedNames } from "../names.ts";
import { expandTemplate } from "../templates.ts";
import { type ObjectRule, objectRule } from "./object-rule.ts";

/** What a user's roles lend at one cluster, and for which objects. */
export interface KubeAccess {
  /** The user's own name, under which roles lend groups that list no users. */
  readonly user: string;
  readonly cluster: string;
  readonly loans: readonly Loan[];
  readonly denied: readonly DeniedObjects[];
}

/**
 * Roles that lend exactly the same users and groups, and the objects for which they do. A request with the groups of a loan reaches what this loan's rules
 * allow, and nothing that only another one's do: so that no role widens another (docs/decisions/0044-kubernetes-access.md).
 */
export interface Loan {
  /** Empty: the user's own name. */
  readonly users: readonly string[];
  readonly groups: readonly string[];
  readonly roles: readonly string[];
  readonly rules: readonly ObjectRule[];
}

export interface DeniedObjects {
  readonly role: string;
  readonly rule: ObjectRule;
}

interface Facts {
  readonly identity: Pick<UserIdentity, "name" | "traits">;
  /** Every role that the user holds: a deny counts everywhere. */
  readonly held: readonly Role[];
  readonly cluster: { readonly name: string; readonly labels: Labels };
}

/** Pure. */
export function kubeAccess({ identity: { name, traits }, held, cluster }: Facts): KubeAccess {
  const denied = {
    users: new Set(held.flatMap(({ spec }) => expandDeniedNames(spec.deny?.kubernetes_users, traits))),
    groups: new Set(held.flatMap(({ spec }) => expandDeniedNames(spec.deny?.kubernetes_groups, traits))),
  };
  const loans = new Map<string, Loan>();
  for (const role of held) {
    if (!matchLabels(role.spec.allow?.kubernetes_labels, cluster.labels, { traits })) continue;
    const loan = loanOf(role, { traits, denied, name });
    if (loan === undefined) continue;
    const key = JSON.stringify([loan.users, loan.groups]);
    const same = loans.get(key);
    loans.set(key, same === undefined ? loan : { ...same, roles: [...same.roles, ...loan.roles], rules: [...same.rules, ...loan.rules] });
  }
  return {
    user: name,
    cluster: cluster.name,
    // In an order that does not depend on that of the roles.
    loans: [...loans].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, loan]) => loan),
    denied: held.flatMap(({ metadata, spec }) =>
      (spec.deny?.kubernetes_resources ?? []).map((rule) => ({ role: metadata.name, rule: objectRule(rule, { traits, denies: true }) })),
    ),
  };
}

interface LoanFacts {
  readonly traits: Traits;
  readonly denied: { readonly users: ReadonlySet<string>; readonly groups: ReadonlySet<string> };
  /** The user's own name. */
  readonly name: string;
}

/** What the role lends; undefined for a role that names no one, or of whose users and groups none is left. */
function loanOf({ metadata, spec: { allow } }: Role, { traits, denied, name }: LoanFacts): Loan | undefined {
  const users = lent(allow?.kubernetes_users, traits, denied.users);
  const groups = lent(allow?.kubernetes_groups, traits, denied.groups);
  if (users.length === 0 && groups.length === 0) return undefined;
  // A role whose users are all denied does not lend the user's own name instead.
  const isOwn = (allow?.kubernetes_users ?? []).every((text) => expanded(text, traits).length === 0);
  if (users.length === 0 && (!isOwn || denied.users.has(name) || denied.users.has("*"))) return undefined;
  const rules = (allow?.kubernetes_resources ?? []).map((rule) => objectRule(rule, { traits, denies: false }));
  return { users, groups, roles: [metadata.name], rules };
}

function lent(texts: readonly string[] | undefined, traits: Traits, denied: ReadonlySet<string>): readonly string[] {
  if (denied.has("*")) return [];
  const values = (texts ?? []).flatMap((text) => expanded(text, traits));
  return [...new Set(values)].filter((value) => !denied.has(value)).sort();
}

/** Without `*`, which is not a name. */
function expanded(text: string, traits: Traits): readonly string[] {
  try {
    return expandTemplate(text, traits).filter((value) => value !== "*" && kubeSubjectText.safeParse(value).success);
  } catch {
    return [];
  }
}
