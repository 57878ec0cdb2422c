import type { Role } from "../resources/role.ts";
import type { Traits } from "../resources/user.ts";

/**
 * Logins that a role's list names for this user. `{{internal.logins}}` is replaced by the user's trait `logins`;
 * any other template stands for nothing.
 */
export function expandLogins(logins: readonly string[] | undefined, traits: Traits): readonly string[] {
  return (logins ?? []).flatMap((login) => {
    const template = /^\{\{\s*(?:internal|external)\.([A-Za-z0-9_]+)\s*\}\}$/.exec(login);
    if (template === null) return login.includes("{{") ? [] : [login];
    const trait = template[1] as string;
    return Object.hasOwn(traits, trait) ? (traits[trait] ?? []) : [];
  });
}

/** All logins that these roles allow somewhere and none denies everywhere: the principals of a user certificate. */
export function allowedLogins(roles: readonly Role[], traits: Traits): readonly string[] {
  const denied = new Set(roles.flatMap((role) => expandLogins(role.spec.deny?.logins, traits)));
  const allowed = roles.flatMap((role) => expandLogins(role.spec.allow?.logins, traits));
  return denied.has("*") ? [] : [...new Set(allowed)].filter((login) => login !== "*" && !denied.has(login));
}
