import type { KubeAccess, Loan } from "./kube-access.ts";
import { isEverything, type NamePattern, type ObjectRule } from "./object-rule.ts";

/** Maximum rules in the text. */
const maxRules = 8;
/** Longest pattern in the text, characters, and most verbs or values of a template. Of more it says that something is left out. */
const [maxPattern, maxValues] = [64, 8] as const;

/**
 * For a user who asks the API server for the list of all that he may do (`kubectl auth can-i --list`): it answers for the groups that these roles lend, and knows
 * nothing of their rules. Undefined: the roles allow everything. Printable ASCII, as it goes into a header. Pure.
 */
export function ownRulesText({ cluster, loans, denied }: KubeAccess, roles: readonly string[]): string | undefined {
  const lending = loans.filter((loan) => loan.roles.some((role) => roles.includes(role)));
  if (denied.length === 0 && lending.every(({ rules }) => rules.some(isEverything))) return undefined;
  const allowed = lending.flatMap(({ roles: [role = ""], rules }: Loan) => rules.map((rule) => `${ruleText(rule)} (role ${role})`));
  const refused = denied.map(({ role, rule }) => `${ruleText(rule)} (role ${role})`);
  const parts = [
    `this list is what Kubernetes cluster ${cluster} allows the users and groups that your roles lend`,
    `of these, your roles allow ${allowed.length === 0 ? "nothing" : `only: ${some(allowed)}`}`,
    ...(refused.length === 0 ? [] : [`they deny: ${some(refused)}`]),
    "to check one action: kubectl auth can-i VERB KIND",
  ];
  return parts.join("; ").replace(/[^ -~]/g, "?");
}

function some(texts: readonly string[]): string {
  const rest = texts.length - maxRules;
  return `${texts.slice(0, maxRules).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}

function ruleText({ kind, namespace, name, verbs }: ObjectRule): string {
  const place = namespace === undefined ? "" : ` in namespace ${patternText(namespace)}`;
  return `${joined(verbs, "/")} ${cut(kind)} ${patternText(name)}${place}`;
}

function patternText(of: NamePattern): string {
  return cut("pattern" in of ? of.pattern : joined(of.values, "|"));
}

function joined(values: readonly string[], by: string): string {
  return [...values.slice(0, maxValues), ...(values.length > maxValues ? ["..."] : [])].join(by);
}

function cut(text: string): string {
  return text.length <= maxPattern ? text : `${text.slice(0, maxPattern - 3)}...`;
}
