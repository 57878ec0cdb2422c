import { type Role, type Verb, verbs } from "../resources/role.ts";
import type { ResourceAsk } from "./ask.ts";

export interface ResourceRule {
  /** The role that denies it, which beats all that allow it. */
  readonly denying: Role | undefined;
  readonly isAllowed: boolean;
}

/** What the rules of the roles say about a verb on a kind of resource. Pure. */
export function resourceRule(roles: readonly Role[], { resource, verb }: Omit<ResourceAsk, "kind">): ResourceRule {
  const covers = (conditions: Role["spec"]["allow"]): boolean =>
    (conditions?.rules ?? []).some(
      (rule) => (rule.resources.includes(resource) || rule.resources.includes("*")) && (rule.verbs.includes(verb) || rule.verbs.includes("*")),
    );
  return { denying: roles.find(({ spec }) => covers(spec.deny)), isAllowed: roles.some(({ spec }) => covers(spec.allow)) };
}

/** The verbs that the roles allow on each of these kinds of resources; a kind without any is left out. It decides what is shown, never what is done. Pure. */
export function allowedVerbs(roles: readonly Role[], resources: readonly string[]): Readonly<Record<string, Exclude<Verb, "*">[]>> {
  const plain = verbs.filter((verb) => verb !== "*");
  const found = resources.map((resource) => {
    const may = plain.filter((verb) => {
      const { denying, isAllowed } = resourceRule(roles, { resource, verb });
      return isAllowed && denying === undefined;
    });
    return [resource, may] as const;
  });
  return Object.fromEntries(found.filter(([, may]) => may.length > 0));
}
