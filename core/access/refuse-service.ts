import type { UserIdentity } from "../identity/identity.ts";
import type { Role } from "../resources/role.ts";
import { matchLabels } from "./match-labels.ts";
import { expandDeniedNames, expandNames, includesName } from "./names.ts";
import type { Wanted, WantedName } from "./wanted.ts";

/** Why these roles do not let the user reach a resource of a service; undefined when they do. A deny beats every allow. Pure. */
export function refuseService(identity: UserIdentity, roles: readonly Role[], wanted: Wanted): string | undefined {
  const { name, labels, labelsCondition, names } = wanted;
  const { traits } = identity;
  const who = `access denied: ${identity.name} may not`;
  for (const { metadata, spec } of roles) {
    if (matchLabels(spec.deny?.[labelsCondition], labels, { traits, unreadable: true }))
      return `${who} reach ${name}: role ${metadata.name} denies its labels`;
    const denied = names.find(
      ({ condition, value }) => value !== undefined && includesName(expandDeniedNames(spec.deny?.[condition], traits), value),
    );
    if (denied !== undefined) return `${who} ${denied.verb} ${denied.value}: role ${metadata.name} denies it`;
  }
  const matching = roles.filter(({ spec }) => matchLabels(spec.allow?.[labelsCondition], labels, { traits }));
  if (matching.length === 0) return `${who} reach ${name}: no role of ${listed(identity.roles)} allows its labels`;
  const lists = (role: Role, { condition, value }: WantedName): boolean => {
    const allowed = expandNames(condition, role.spec.allow?.[condition], traits);
    return value === undefined ? allowed.length > 0 : includesName(allowed, value);
  };
  // A single role has to allow all of it.
  if (matching.some((role) => names.every((one) => lists(role, one)))) return undefined;
  const unlisted = names.find((one) => !matching.some((role) => lists(role, one)));
  if (unlisted === undefined) return `${who} reach ${name}: no role allows ${names.map(({ noun }) => noun).join(" and ")} together`;
  const { verb, noun, value } = unlisted;
  return value === undefined
    ? `${who} reach ${name}: no role lists a ${noun} there`
    : `${who} ${verb} ${value} on ${name}: no role lists this ${noun}`;
}

/**
 * Whether a role's options apply to this resource and these names: where it allows them, and where it does not restrict labels (or
 * names). So a role with only options binds its holder everywhere. Pure.
 */
export function hasSay({ spec: { allow } }: Role, { labels, labelsCondition, names }: Wanted, traits: UserIdentity["traits"]): boolean {
  const namesLabels = Object.keys(allow?.[labelsCondition] ?? {}).length > 0;
  if (namesLabels && !matchLabels(allow?.[labelsCondition], labels, { traits, unreadable: true })) return false;
  return names.every(({ condition, value }) => {
    const namesNames = (allow?.[condition] ?? []).length > 0;
    return value === undefined || !namesNames || includesName(expandNames(condition, allow?.[condition], traits), value);
  });
}

export function listed(names: readonly string[]): string {
  return names.length > 0 ? names.join(", ") : "(none)";
}
