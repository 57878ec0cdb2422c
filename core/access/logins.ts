import { loginText } from "../resources/metadata.ts";
import type { Role } from "../resources/role.ts";
import type { Traits } from "../resources/user.ts";
import { expandTemplate, isTemplate } from "./templates.ts";

/** Any login at all. */
const any = "*";

/** Logins that a role allows this user. What a template stands for counts only when it is a login; `*` in a trait is none. */
export function expandLogins(logins: readonly string[] | undefined, traits: Traits): readonly string[] {
  return (logins ?? []).flatMap((login) => {
    if (!isTemplate(login)) return [login];
    try {
      return expandTemplate(login, traits).filter((value) => loginText.safeParse(value).success);
    } catch {
      return [];
    }
  });
}

/** Logins that a role denies this user. A template that cannot be read denies all: what it was meant to deny is not known. */
export function expandDeniedLogins(logins: readonly string[] | undefined, traits: Traits): readonly string[] {
  return (logins ?? []).flatMap((login) => {
    try {
      return expandTemplate(login, traits);
    } catch {
      return [any];
    }
  });
}

export function includesLogin(logins: readonly string[], login: string): boolean {
  return logins.includes(login) || logins.includes(any);
}

/** All logins that these roles allow somewhere and none denies everywhere: the principals of a user certificate. */
export function allowedLogins(roles: readonly Role[], traits: Traits): readonly string[] {
  const denied = new Set(roles.flatMap((role) => expandDeniedLogins(role.spec.deny?.logins, traits)));
  const allowed = roles.flatMap((role) => expandLogins(role.spec.allow?.logins, traits));
  return denied.has(any) ? [] : [...new Set(allowed)].filter((login) => login !== any && !denied.has(login));
}
