import type { KubeAccess, Loan } from "./kube-access.ts";
import type { ObjectRule } from "./object-rule.ts";

/** What roles lend at a cluster and deny there, a text each, for people who compare two sets of roles. */
export interface AbilityTexts {
  /** `get, list of pod a/web-* in group dev`. */
  readonly lent: readonly string[];
  /** `anything of secret *\/*`. */
  readonly denied: readonly string[];
}

/** Pure. */
export function abilityTexts({ loans, denied }: Pick<KubeAccess, "loans" | "denied">): AbilityTexts {
  return {
    lent: [...new Set(loans.flatMap((loan) => loan.rules.map((rule) => `${ruleText(rule)} ${subjectsText(loan)}`)))].sort(),
    denied: [...new Set(denied.map(({ rule }) => ruleText(rule)))].sort(),
  };
}

function ruleText({ kind, namespace, name, verbs }: ObjectRule): string {
  const place = namespace === undefined ? patternText(name) : `${patternText(namespace)}/${patternText(name)}`;
  return `${verbs.includes("*") ? "anything" : verbs.join(", ")} of ${kind} ${place}`;
}

function patternText(of: ObjectRule["name"]): string {
  return "pattern" in of ? of.pattern : of.values.join("|");
}

function subjectsText({ users, groups }: Loan): string {
  const parts = [...(users.length > 0 ? [`as ${users.join(" or ")}`] : []), ...(groups.length > 0 ? [`in group ${groups.join(" and ")}`] : [])];
  return parts.join(" ");
}
