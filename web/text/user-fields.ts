import type { User } from "../../core/resources/user.ts";
import { labelsOf } from "./role-fields.ts";

/** The user's traits besides the logins, a line for each value: `team=web`. Undefined when lines cannot say it. Pure. */
export function traitLines({ spec }: Pick<User, "spec">): string | undefined {
  const { logins: _logins, ...others } = spec.traits ?? {};
  const lines = Object.entries(others).flatMap(([name, values]) => (values ?? []).map((value) => `${name}=${value}`));
  const same = traitsOf(lines);
  return same !== undefined && JSON.stringify(same) === JSON.stringify(others) ? lines.join("\n") : undefined;
}

type Traits = Record<string, string[]>;

/** The traits of such lines; undefined when one of them has no `=`, or is a login. Pure. */
export function traitsOf(lines: readonly string[]): Traits | undefined {
  const read = labelsOf(lines);
  if (read === undefined || "logins" in read) return undefined;
  return Object.fromEntries(Object.entries(read).map(([name, values]) => [name, [values].flat()]));
}

/** The user with other roles. Pure. */
export function withRoles(user: User, roles: readonly string[]): User {
  return { ...user, spec: { ...user.spec, roles: [...roles] } };
}

/** The user with other logins, which are left out when there are none. Pure. */
export function withLogins(user: User, logins: readonly string[]): User {
  const { logins: _before, ...others }: User["spec"]["traits"] = user.spec.traits ?? {};
  return withTraits(user, { ...(logins.length > 0 && { logins: [...logins] }), ...others });
}

/** The user with other traits besides the logins. Pure. */
export function withOtherTraits(user: User, others: Traits): User {
  const { logins } = user.spec.traits ?? {};
  return withTraits(user, logins === undefined ? others : { logins, ...others });
}

function withTraits(user: User, traits: Traits): User {
  const { traits: _before, ...spec } = user.spec;
  return { ...user, spec: { ...spec, ...(Object.keys(traits).length > 0 && { traits }) } };
}
