import type { ServiceKind } from "../kinds/service-kinds.ts";
import { parseDuration } from "../resources/duration.ts";
import { type HostUserMode, hostGroupText, type Role, type RoleConditions, type RoleOptions } from "../resources/role.ts";
import type { Traits } from "../resources/user.ts";
import { expandTemplate } from "./templates.ts";

/** Rules for a connection to any service: the combined options of every role that applies there. */
export interface CommonRules {
  /** Maximum time without activity, seconds; undefined for no limit. */
  readonly idleTimeoutSeconds: number | undefined;
  /** Whether a connection ends when its certificate does. */
  readonly disconnectExpired: boolean;
  /** Whether a connection ends when the locks in force are no longer known. */
  readonly strictLocks: boolean;
  /** Whether a session ends when it can no longer be recorded. */
  readonly strictRecording: boolean;
  /** Whether replication connections to a database server may be made. */
  readonly dbReplication: boolean;
}

/** Additional rules for SSH. */
export interface SessionRules extends CommonRules {
  readonly forwardAgent: boolean;
  readonly portForwarding: boolean;
  readonly fileCopy: boolean;
  readonly x11Forwarding: boolean;
  /** Maximum concurrent sessions on one connection. */
  readonly maxSessions: number | undefined;
  /** How the host creates a missing Unix user; undefined when it does not. */
  readonly hostUser: HostUserRule | undefined;
}

/** Traits of the user. */
export interface RuleHolder {
  /** Every role that the user holds, whether it applies or not: a deny counts everywhere. */
  readonly held: readonly Role[];
  readonly traits: Traits;
}

type Flag = { [Name in keyof RoleOptions]-?: boolean extends RoleOptions[Name] ? Name : never }[keyof RoleOptions];

/**
 * The least permissive wins: a single no outweighs every yes. Options that no role mentions have their defaults:
 * ports and files yes, agent, X11 and replication no. Pure.
 */
export function sessionRules(roles: readonly Role[], { held, traits }: RuleHolder = { held: roles, traits: {} }): SessionRules {
  const options = optionsOf(roles);
  return {
    ...commonRules("ssh", roles),
    forwardAgent: permits(options, "forward_agent", false),
    portForwarding: permits(options, "port_forwarding", true),
    fileCopy: permits(options, "ssh_file_copy", true),
    x11Forwarding: permits(options, "permit_x11_forwarding", false),
    maxSessions: least(options.map((one) => one.max_sessions)),
    hostUser: hostUserRule({ roles, held, traits }),
  };
}

/** As `sessionRules`, for the rules of every kind of service. Pure. */
export function commonRules(kind: ServiceKind, roles: readonly Role[]): CommonRules {
  const options = optionsOf(roles);
  const recordKind = kind === "ssh" ? kind : "default";
  return {
    idleTimeoutSeconds: least(
      options.map(({ client_idle_timeout: text }) => (text === undefined || text === "never" ? undefined : parseDuration(text))),
    ),
    disconnectExpired: options.some((one) => one.disconnect_expired_cert === true),
    strictLocks: options.some((one) => one.lock === "strict"),
    strictRecording: options.some(({ record_session: record }) => (record?.[recordKind] ?? record?.default) === "strict"),
    dbReplication: permits(options, "db_replication", false),
  };
}

function permits(options: readonly RoleOptions[], name: Flag, byDefault: boolean): boolean {
  const said = options.map((one) => one[name]);
  return !said.includes(false) && (byDefault || said.includes(true));
}

function optionsOf(roles: readonly Role[]): readonly RoleOptions[] {
  return roles.map(({ spec }) => spec.options ?? {});
}

/** Maximum concurrent connections in the whole cluster: from all roles that the user holds, wherever they apply. Pure. */
export function maxConnections(roles: readonly Role[]): number | undefined {
  return least(roles.map(({ spec }) => spec.options?.max_connections));
}

function least(values: readonly (number | undefined)[]): number | undefined {
  const given = values.filter((value) => value !== undefined);
  return given.length > 0 ? Math.min(...given) : undefined;
}

/** How a host creates a missing Unix user. */
export interface HostUserRule {
  readonly mode: Exclude<HostUserMode, "off">;
  readonly groups: readonly string[];
  /** Lines for sudo(8), without the user's name. */
  readonly sudoers: readonly string[];
}

interface HostUserFacts {
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
