import { PlatformError } from "../errors/platform-error.ts";
import type { Role, RoleConditions } from "../resources/role.ts";
import { compileExpression } from "./expression/compile-expression.ts";
import { isExpression } from "./match-labels.ts";
import { isTemplate, parseTemplate } from "./templates.ts";

/**
 * What is wrong with a role's templates and expressions, a sentence each with its place. A role is refused for it when it is
 * written; one that is there all the same allows nothing by such a part and denies everything by it.
 */
export function unreadableParts({ spec }: Role): readonly string[] {
  return (["allow", "deny"] as const).flatMap((side) => unreadableConditions(spec[side] ?? {}).map((problem) => `spec.${side}.${problem}`));
}

function unreadableConditions({ logins = [], node_labels = {}, host_groups = [] }: RoleConditions): readonly string[] {
  const labels = Object.entries(node_labels).flatMap(([key, wanted]) => [wanted].flat().map((text) => ({ place: `node_labels.${key}`, text })));
  const names = [...logins.map((text) => ({ place: "logins", text })), ...host_groups.map((text) => ({ place: "host_groups", text }))];
  return [...names, ...labels].flatMap(({ place, text }) => {
    const problem = problemOf(text, place.startsWith("node_labels"));
    return problem === undefined ? [] : [`${place}: ${problem}`];
  });
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
