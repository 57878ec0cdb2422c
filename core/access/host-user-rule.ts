import { type HostUserMode, hostGroupText } from "../resources/host-user.ts";
import type { Role, RoleConditions } from "../resources/role.ts";
import type { Traits } from "../resources/user.ts";
import { expandTemplate } from "./templates.ts";

/** How a host creates a missing Unix user. */
export interface HostUserRule {
  readonly mode: Exclude<HostUserMode, "off">;
  readonly groups: readonly string[];
  /** Lines for sudo(8), without the user's name. */
  readonly sudoers: readonly string[];
}

export interface HostUserFacts {
  /** Roles that apply to this login on this host. */
  readonly roles: readonly Role[];
  readonly held: readonly Role[];
  readonly traits: Traits;
}

/**
 * The least permissive mode that a role names wins: off, then drop, then keep; if none names one, no user is created. Groups and sudoers of
 * the roles add up, except those that any role of the user denies. Pure.
 */
export function hostUserRule({ roles, held, traits }: HostUserFacts): HostUserRule | undefined {
  const modes = new Set(roles.map(({ spec }) => spec.options?.create_host_user_mode));
  const mode = modes.has("drop") ? "drop" : "keep";
  if (modes.has("off") || !modes.has(mode)) return undefined;
  const deniedGroups = new Set(held.flatMap(({ spec }) => expandGroups(spec.deny, traits, ["*"])));
  const deniedSudoers = new Set(held.flatMap(({ spec }) => spec.deny?.host_sudoers ?? []));
  const groups = roles.flatMap(({ spec }) => expandGroups(spec.allow, traits, [])).filter((name) => hostGroupText.safeParse(name).success);
  const sudoers = roles.flatMap(({ spec }) => spec.allow?.host_sudoers ?? []);
  return { mode, groups: without(groups, deniedGroups), sudoers: without(sudoers, deniedSudoers) };
}

function expandGroups(conditions: RoleConditions | undefined, traits: Traits, unreadable: readonly string[]): readonly string[] {
  return (conditions?.host_groups ?? []).flatMap((name) => {
    try {
      return expandTemplate(name, traits);
    } catch {
      return unreadable;
    }
  });
}

/** Each once, in alphabetical order, so that the order of a user's roles does not matter. */
function without(values: readonly string[], denied: ReadonlySet<string>): readonly string[] {
  return denied.has("*") ? [] : [...new Set(values)].filter((value) => !denied.has(value)).sort();
}
