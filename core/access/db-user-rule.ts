import { type DbUserMode, dbRoleText, type Role } from "../resources/role.ts";
import type { Traits } from "../resources/user.ts";
import type { ServedAsk } from "./ask.ts";
import { matchLabels } from "./match-labels.ts";
import { hasSay, wantedOf } from "./refuse.ts";
import { expandTemplate } from "./templates.ts";

/** How an agent makes the account of a user at a database. */
export interface DbUserRule {
  readonly mode: Exclude<DbUserMode, "off">;
  /** Roles at the server that the account gets: each once, in alphabetical order. */
  readonly roles: readonly string[];
}

interface DbUserFacts {
  /** Every role that the user holds: a deny counts everywhere. */
  readonly held: readonly Role[];
  readonly traits: Traits;
}

/**
 * The rule for a user's account at a database whose agents make accounts; undefined: the user needs an account that is there, which `db_users` lists.
 * The least permissive mode wins: off, then drop, then keep. The roles at the server are those of every role that allows the database's labels, whatever
 * logical databases it lists, less those that any role denies. Pure.
 */
export function dbUserRule(ask: ServedAsk, { held, traits }: DbUserFacts): DbUserRule | undefined {
  if (ask.kind !== "db" || ask.makesAccounts !== true) return undefined;
  const wanted = { ...wantedOf(ask), names: [] };
  const modes = new Set(held.filter((role) => hasSay(role, wanted, traits)).map(modeOf));
  const mode = modes.has("best_effort_drop") ? "best_effort_drop" : "keep";
  if (modes.has("off") || !modes.has(mode)) return undefined;
  const allowing = held.filter(({ spec }) => matchLabels(spec.allow?.db_labels, wanted.labels, { traits }));
  const granted = allowing.flatMap(({ spec }) => expanded(spec.allow?.db_roles, traits, []));
  const denied = new Set(held.flatMap(({ spec }) => expanded(spec.deny?.db_roles, traits, ["*"])));
  const roles = denied.has("*") ? [] : granted.filter((name) => dbRoleText.safeParse(name).success && !denied.has(name));
  return { mode, roles: [...new Set(roles)].sort() };
}

/** What a role says about it. */
function modeOf({ spec: { options = {} } }: Role): DbUserMode | undefined {
  const { create_db_user_mode: mode, create_db_user: isMade } = options;
  if (mode !== undefined || isMade === undefined) return mode;
  return isMade ? "keep" : "off";
}

/** A template that cannot be read stands for `unreadable`. */
function expanded(names: readonly string[] | undefined, traits: Traits, unreadable: readonly string[]): readonly string[] {
  return (names ?? []).flatMap((name) => {
    try {
      return expandTemplate(name, traits);
    } catch {
      return unreadable;
    }
  });
}
