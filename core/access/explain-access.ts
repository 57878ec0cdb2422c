import { PlatformError } from "../errors/platform-error.ts";
import type { UserIdentity } from "../identity/identity.ts";
import { serviceKinds } from "../kinds/service-kinds.ts";
import { type Lock, removedUserId } from "../resources/lock.ts";
import type { Role } from "../resources/role.ts";
import type { Traits, User } from "../resources/user.ts";
import { isServed, type ServedAsk, type SshAsk } from "./ask.ts";
import { authorize, type Grant } from "./authorize.ts";
import { dbUserRule } from "./db-user-rule.ts";
import { askText } from "./kube/decide-kube.ts";
import { demandingRole } from "./session-mfa.ts";

/** What one role says about an access. */
export interface RoleSay {
  readonly role: string;
  /** `nothing`: it neither allows nor denies it, or it does not exist. */
  readonly says: "allows" | "denies" | "nothing";
  /** Why, when it does not allow it. */
  readonly why?: string;
}

export interface Explanation {
  readonly allowed: boolean;
  /** The decision and its reason, one sentence. */
  readonly reason: string;
  readonly roles: readonly RoleSay[];
}

export interface ExplainFacts {
  readonly user: Pick<User, "metadata" | "spec">;
  /** All roles of the cluster. */
  readonly roles: readonly Role[];
  readonly locks: readonly Lock[];
  readonly ask: SshAsk | ServedAsk;
  readonly now: Date;
}

/** Stands for the address of the user, whatever it is: `pin_source_ip` binds a login to its own. */
const anywhere = "192.0.2.1";
/** A role that allows everything: beside it, only what denies remains. */
function everything(ask: ExplainFacts["ask"]): Role {
  const { user, groups = [] } = (isServed(ask) ? ask.request?.wanted : undefined) ?? {};
  return {
    kind: "role",
    version: "v7",
    metadata: { name: "-everything-" },
    spec: {
      allow: {
        logins: ["*"],
        db_users: ["*"],
        db_names: ["*"],
        ...Object.fromEntries(Object.values(serviceKinds).map(({ labels }) => [labels, { "*": "*" }])),
        kubernetes_users: user === undefined ? [] : [user],
        kubernetes_groups: ["-everyone-", ...groups],
        kubernetes_resources: [{ kind: "*", namespace: "*", name: "*", verbs: ["*"] }],
      },
    },
  };
}

/**
 * Why a user who logs in now may, or may not, have this access, and what each of the user's roles says. It is decided by `authorize` itself, so that the
 * explanation is the decision. Pure.
 */
export function explainAccess(facts: ExplainFacts): Explanation {
  const { user, roles } = facts;
  // Of a removed user with the same name.
  const locks = facts.locks.filter((lock) => removedUserId(lock) === undefined);
  const says = user.spec.roles.map((name) => sayOf(facts, { name, role: roles.find(({ metadata }) => metadata.name === name) }));
  const refusal = refusalBy({ ...facts, locks }, roles);
  if (refusal !== undefined) return { allowed: false, reason: refusal, roles: says };
  const allowing = says.filter((one) => one.says === "allows").map(({ role }) => role);
  const by = allowing.length === 0 ? "its roles together allow it" : `${allowing.join(", ")} ${allowing.length === 1 ? "allows" : "allow"} it`;
  const reason = `${user.metadata.name} may ${textOf(facts.ask)}: ${by}`;
  const demanding = demandingRoleOf(facts);
  const code = demanding === undefined ? "" : `; each session needs a one-time code (role ${demanding}, require_session_mfa)`;
  return { allowed: true, reason: `${reason}${code}`, roles: says };
}

/** The role that demands a one-time code for an allowed access. */
function demandingRoleOf({ user, roles, ask, now }: ExplainFacts): string | undefined {
  const held = roles.filter(({ metadata }) => user.spec.roles.includes(metadata.name));
  const identity = identityOf(user, user.spec.roles, now);
  const account = isServed(ask) ? dbUserRule(ask, { held, traits: identity.traits }) : undefined;
  return demandingRole(identity, held, ask, { ownAccount: account !== undefined })?.metadata.name;
}

function sayOf(facts: ExplainFacts, { name, role }: { readonly name: string; readonly role: Role | undefined }): RoleSay {
  if (role === undefined) return { role: name, says: "nothing", why: "the role does not exist" };
  const alone = { ...facts, locks: [] };
  const { deny: _deny, ...allowing } = role.spec;
  const beside = everything(facts.ask);
  const denied = refusalBy(alone, [beside, { ...role, spec: { deny: role.spec.deny ?? {} } }], [beside.metadata.name, name]);
  if (denied !== undefined) return { role: name, says: "denies", why: denied };
  const refused = refusalBy(alone, [{ ...role, spec: allowing }], [name]);
  return refused === undefined ? { role: name, says: "allows" } : { role: name, says: "nothing", why: refused };
}

/** Why these roles do not allow it to a user who logs in now and holds them; undefined when they do. Pure. */
export function refusalBy(
  { user, ask, locks, now }: Omit<ExplainFacts, "roles">,
  roles: readonly Role[],
  held: readonly string[] = user.spec.roles,
): string | undefined {
  const decision = decisionBy({ user, ask, locks, now }, roles, held);
  return "refusal" in decision ? decision.refusal : undefined;
}

/** As `refusalBy`, with what is granted. Pure. */
export function decisionBy(
  { user, ask, locks, now }: Omit<ExplainFacts, "roles">,
  roles: readonly Role[],
  held: readonly string[] = user.spec.roles,
): { readonly grant: Grant } | { readonly refusal: string } {
  try {
    return { grant: authorize({ identity: identityOf(user, held, now), roles, ask, locks, clientIp: anywhere, now, isBeforeMfa: true }) };
  } catch (thrown) {
    if (thrown instanceof PlatformError && thrown.code === "denied") return { refusal: thrown.message.replace(/^access denied: /, "") };
    throw thrown;
  }
}

function identityOf({ metadata, spec }: ExplainFacts["user"], roles: readonly string[], now: Date): UserIdentity {
  const validBefore = new Date(now.getTime() + 60_000);
  return { kind: "user", name: metadata.name, roles, traits: traitsOf({ spec }), principals: {}, cluster: "", sourceIp: anywhere, validBefore };
}

/** The traits that a user's login would have. Pure. */
export function traitsOf({ spec }: Pick<User, "spec">): Traits {
  return Object.fromEntries(Object.entries(spec.traits ?? {}).flatMap(([name, values]) => (values === undefined ? [] : [[name, values]])));
}

/** `log in as root on web-1`, `reach orders as reader`. */
function textOf(ask: ExplainFacts["ask"]): string {
  if (!isServed(ask)) return ask.login === undefined ? `log in on ${ask.node.name}` : `log in as ${ask.login} on ${ask.node.name}`;
  if (ask.request?.ask.type === "object") return `${askText(ask.request.ask)} at ${ask.served.name}`;
  const { user } = (ask.names ?? {}) as { readonly user?: string };
  return user === undefined ? `reach ${ask.served.name}` : `reach ${ask.served.name} as ${user}`;
}
