import type { z } from "zod";
import type { NamesCondition } from "../kinds/service-kinds.ts";
import { dbAccountText } from "../resources/db.ts";
import { loginText } from "../resources/metadata.ts";
import type { Role } from "../resources/role.ts";
import type { Traits } from "../resources/user.ts";
import { expandTemplate, isTemplate } from "./templates.ts";

/** Any name. */
const any = "*";
/** Valid names for each condition. */
const texts = { logins: loginText, db_users: dbAccountText, db_names: dbAccountText } satisfies Readonly<Record<NamesCondition, z.ZodType<string>>>;

/** Names that a role allows this user. The value of a template counts only when it is a valid name; `*` in a trait is not. */
export function expandNames(condition: NamesCondition, names: readonly string[] | undefined, traits: Traits): readonly string[] {
  return (names ?? []).flatMap((name) => {
    if (!isTemplate(name)) return [name];
    try {
      return expandTemplate(name, traits).filter((value) => texts[condition].safeParse(value).success);
    } catch {
      return [];
    }
  });
}

/** Names that a role denies this user. An unreadable template denies all, because its intent is unknown. */
export function expandDeniedNames(names: readonly string[] | undefined, traits: Traits): readonly string[] {
  return (names ?? []).flatMap((name) => {
    try {
      return expandTemplate(name, traits);
    } catch {
      return [any];
    }
  });
}

export function includesName(names: readonly string[], name: string): boolean {
  return names.includes(name) || names.includes(any);
}

/** All names that these roles allow somewhere and none denies everywhere: the principals of a user certificate. */
export function allowedNames(condition: NamesCondition, roles: readonly Role[], traits: Traits): readonly string[] {
  const denied = new Set(roles.flatMap((role) => expandDeniedNames(role.spec.deny?.[condition], traits)));
  const allowed = roles.flatMap((role) => expandNames(condition, role.spec.allow?.[condition], traits));
  return denied.has(any) ? [] : [...new Set(allowed)].filter((name) => name !== any && !denied.has(name));
}
