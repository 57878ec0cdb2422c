import { parseJson } from "../../../core/bytes/parse-json.ts";
import { serviceKinds, serviceNames } from "../../../core/kinds/service-kinds.ts";

/**
 * Roles (JSON) without the conditions of kinds that the caller does not know: an older caller would refuse a role with unknown
 * fields, and every user with that role. They do not affect such a caller's decisions. Without kinds: the previous version, ssh alone. Pure.
 */
export function rolesForKinds(rolesJson: readonly string[], kinds: readonly string[]): readonly string[] {
  const known = kinds.length === 0 ? ["ssh"] : kinds;
  const strange = new Set(serviceNames.filter((kind) => !known.includes(kind)).flatMap(conditionsOf));
  if (strange.size === 0) return rolesJson;
  return rolesJson.map((json) => {
    if (![...strange].some((condition) => json.includes(condition))) return json;
    const role = parseJson(json, "a role") as { spec?: { allow?: object; deny?: object } };
    const without = (side: object | undefined) => side && Object.fromEntries(Object.entries(side).filter(([name]) => !strange.has(name)));
    const { spec = {} } = role;
    return JSON.stringify({
      ...role,
      spec: { ...spec, ...(spec.allow && { allow: without(spec.allow) }), ...(spec.deny && { deny: without(spec.deny) }) },
    });
  });
}

function conditionsOf(kind: (typeof serviceNames)[number]): readonly string[] {
  const { labels, names } = serviceKinds[kind];
  return [labels, ...Object.values<{ condition: string }>(names).map(({ condition }) => condition)];
}
