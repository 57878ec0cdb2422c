import { nearestName } from "../../../core/config/nearest-name.ts";
import type { Log } from "../../../core/log/log.ts";
import { ruleResources } from "../../../core/resources/resource-specs.ts";
import type { Role } from "../../../core/resources/role.ts";

/**
 * Resources in a role's rules that this version does not have, a sentence each with its position: such a rule has no effect.
 * Writing such a role is refused; a stored one works without the rule.
 */
export function unknownResources({ spec }: Role): readonly string[] {
  return (["allow", "deny"] as const).flatMap((side) =>
    (spec[side]?.rules ?? []).flatMap(({ resources }, at) =>
      resources.filter((name) => !known.has(name)).map((name) => `spec.${side}.rules.${at}: ${unknownText(name)}`),
    ),
  );
}

const known: ReadonlySet<string> = new Set([...ruleResources, "*"]);

function unknownText(name: string): string {
  const shown = `unknown resource ${JSON.stringify(name)}`;
  const near = nearestName(name, ruleResources);
  return near === undefined ? `${shown}; resources are ${ruleResources.join(", ")} and '*'` : `${shown}; did you mean ${near}?`;
}

/** Logs stored roles with resources that this version does not have. */
export function warnOfUnknownResources(roles: readonly Role[], log: Log): void {
  for (const role of roles) {
    const problems = unknownResources(role);
    if (problems.length > 0) log.warn("a role has rules without effect", { role: role.metadata.name, problems: problems.slice(0, 8) });
  }
}
