import { nearestName } from "../../../core/config/nearest-name.ts";
import type { Log } from "../../../core/log/log.ts";
import { ruleResources } from "../../../core/resources/resource-specs.ts";
import type { Role } from "../../../core/resources/role.ts";

/**
 * What a role's rules name that this version does not have, a sentence each with its place: such a rule allows and denies nothing.
 * A role is refused for it when it is written; one that is stored all the same works on without it.
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
  const shown = `there is no resource ${JSON.stringify(name)}`;
  const near = nearestName(name, ruleResources);
  return near === undefined ? `${shown}; resources are ${ruleResources.join(", ")} and '*'` : `${shown}; did you mean ${near}?`;
}

/** Logs which stored roles name resources that this version does not have. */
export function warnOfUnknownResources(roles: readonly Role[], log: Log): void {
  for (const role of roles) {
    const problems = unknownResources(role);
    if (problems.length > 0) log.warn("a role has rules without effect", { role: role.metadata.name, problems: problems.slice(0, 8) });
  }
}
