import { PlatformError } from "../errors/platform-error.ts";
import { type NamesCondition, serviceKinds } from "../kinds/service-kinds.ts";
import type { Role, RoleConditions } from "../resources/role.ts";
import { compileExpression } from "./expression/compile-expression.ts";
import { isExpression } from "./match-labels.ts";
import { isTemplate, parseTemplate } from "./templates.ts";

/**
 * Errors in a role's templates and expressions, a sentence each with its place. A role is refused for them when it is
 * written; in a role that was stored anyway, such a part allows nothing and denies everything.
 */
export function unreadableParts({ spec }: Role): readonly string[] {
  const problems = (["allow", "deny"] as const).flatMap((side) => unreadableConditions(spec[side] ?? {}).map((problem) => `spec.${side}.${problem}`));
  const everyone = (["kubernetes_users", "kubernetes_groups"] as const).filter((list) => spec.allow?.[list]?.includes("*") === true);
  return [...problems, ...everyone.map((list) => `spec.allow.${list}: "*" is for a deny alone: name those whom the role lends`)];
}

function unreadableConditions(conditions: RoleConditions): readonly string[] {
  const kinds = Object.values(serviceKinds);
  const labels = kinds.flatMap(({ labels: condition }) =>
    Object.entries(conditions[condition] ?? {}).flatMap(([key, wanted]) =>
      [wanted].flat().map((text) => [`${condition}.${key}`, problemOf(text, true)]),
    ),
  );
  const lists = [
    ...kinds.flatMap(({ names }) => Object.values<{ readonly condition: NamesCondition }>(names).map(({ condition }) => condition)),
    "host_groups" as const,
    "db_roles" as const,
    "kubernetes_users" as const,
    "kubernetes_groups" as const,
  ];
  const names = lists.flatMap((list) => (conditions[list] ?? []).map((text) => [list, problemOf(text, false)]));
  const objects = (conditions.kubernetes_resources ?? []).flatMap(({ namespace, name }, index) =>
    Object.entries({ namespace, name }).flatMap(([field, text]) =>
      text === undefined ? [] : [[`kubernetes_resources.${index}.${field}`, problemOf(text, true)] as const],
    ),
  );
  return [...names, ...labels, ...objects].flatMap(([place, problem]) => (problem === undefined ? [] : [`${place}: ${problem}`]));
}

function problemOf(text: string, isMatcher: boolean): string | undefined {
  try {
    if (isMatcher && isExpression(text)) {
      if (text.includes("{{")) return `${JSON.stringify(text.slice(0, 200))} holds a template within an expression; use one of the two`;
      compileExpression(text);
    } else if (isTemplate(text)) parseTemplate(text);
    return undefined;
  } catch (thrown) {
    if (!(thrown instanceof PlatformError)) throw thrown;
    return thrown.hint === undefined ? thrown.message : `${thrown.message}; ${thrown.hint}`;
  }
}
