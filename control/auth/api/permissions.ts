import type { ServiceImpl } from "@connectrpc/connect";
import type { ResourceAsk, ServedAsk, SshAsk } from "../../../core/access/ask.ts";
import { type AuthorizeFacts, authorize } from "../../../core/access/authorize.ts";
import { findLock, lockedError } from "../../../core/access/find-lock.ts";
import { mayOffer } from "../../../core/access/may-offer.ts";
import { refuseSourceIp } from "../../../core/access/refuse.ts";
import { onlyRestricts } from "../../../core/access/session-mfa.ts";
import type { AuthService } from "../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import { servedKinds, serviceKinds } from "../../../core/kinds/service-kinds.ts";
import type { RuleResource } from "../../../core/resources/resource-specs.ts";
import type { HostRole } from "../../../core/resources/token.ts";
import { ipOf } from "../../../core/transport/host-port.ts";
import { listLocks } from "../access/locks.ts";
import { rolesNamed } from "../access/roles.ts";
import type { AuthContext } from "../auth-context.ts";
import { allowedServices, offerLimits, requireHost } from "../inventory/host-records.ts";
import { findUser } from "../users/users.ts";
import type { Caller, UserCaller } from "./caller.ts";

/** Callers of a method. `by kind`: the handler asks `requireRule` once the resource is known. `in a browser`: any user, by a session and not by a certificate. */
interface Permission {
  readonly anonymous?: true;
  readonly hosts: readonly HostRole[];
  readonly users?: "by kind" | "in a browser" | { readonly resource: RuleResource; readonly verb: ResourceAsk["verb"] };
}

const anyone: Permission = { anonymous: true, hosts: ["node", "proxy", "auth"], users: "by kind" };

export type MethodName = keyof ServiceImpl<typeof AuthService>;

/** Every method of the API. Hosts of role `auth` may call all of them. */
export const permissions = {
  getCluster: anyone,
  join: anyone,
  checkJoin: anyone,
  login: anyone,
  getInvite: anyone,
  acceptInvite: anyone,
  // For browsers, of which only proxies speak.
  createBrowserSession: { hosts: ["proxy", "auth"] },
  startPasskeyLogin: { hosts: ["proxy", "auth"] },
  beginAppSession: { hosts: ["proxy", "auth"] },
  getAppSession: { hosts: ["proxy", "auth"] },
  checkAppSessions: { hosts: ["proxy", "auth"] },
  endAppSession: { hosts: ["proxy", "auth"] },
  signBrowserApp: { hosts: ["proxy", "auth"] },
  // Of the caller, for the caller.
  getBrowserSession: { hosts: [], users: "in a browser" },
  listBrowserSessions: { hosts: [], users: "by kind" },
  endBrowserSession: { hosts: [], users: "by kind" },
  changePassword: { hosts: [], users: "in a browser" },
  startAuthenticator: { hosts: [], users: "in a browser" },
  confirmAuthenticator: { hosts: [], users: "in a browser" },
  startPasskey: { hosts: [], users: "in a browser" },
  addPasskey: { hosts: [], users: "in a browser" },
  listPasskeys: { hosts: [], users: "in a browser" },
  startPasskeyRemoval: { hosts: [], users: "in a browser" },
  removePasskey: { hosts: [], users: "in a browser" },
  explainOwnDatabase: { hosts: [], users: "in a browser" },
  createConfirmation: { hosts: [], users: "in a browser" },
  getConfirmation: { hosts: [], users: "in a browser" },
  createAppSession: { hosts: [], users: "in a browser" },
  signBrowserSsh: { hosts: [], users: "in a browser" },
  signBrowserKube: { hosts: [], users: "in a browser" },
  renewHost: { hosts: ["node", "proxy", "auth"] },
  signUser: { hosts: ["auth"], users: { resource: "cert_authority", verb: "create" } },
  // Of the caller, for the caller.
  signOwnUser: { hosts: [], users: "by kind" },
  signSession: { hosts: [], users: "by kind" },
  signHost: { hosts: ["auth"], users: { resource: "cert_authority", verb: "create" } },
  signRelayedHost: { hosts: ["proxy", "auth"] },
  signRelayedUser: { hosts: ["proxy", "auth"] },
  signRelayedDatabase: { hosts: ["proxy", "auth"] },
  signRelayedApp: { hosts: ["proxy", "auth"] },
  signRelayedKube: { hosts: ["proxy", "auth"] },
  signDatabaseClient: { hosts: ["node"] },
  signAppToken: { hosts: ["node"] },
  signDatabaseServer: { hosts: ["auth"], users: { resource: "cert_authority", verb: "create" } },
  getRotations: { hosts: ["auth"], users: { resource: "cert_authority", verb: "read" } },
  rotateAuthority: { hosts: ["auth"], users: { resource: "cert_authority", verb: "update" } },
  createInvite: { hosts: ["auth"], users: { resource: "user", verb: "update" } },
  unlockUser: { hosts: ["auth"], users: { resource: "user", verb: "update" } },
  createToken: { hosts: ["auth"], users: { resource: "token", verb: "create" } },
  listResources: { hosts: ["node", "proxy", "auth"], users: "by kind" },
  getResource: { hosts: ["proxy", "auth"], users: "by kind" },
  putResource: { hosts: ["auth"], users: "by kind" },
  checkPermission: { hosts: ["auth"], users: "by kind" },
  // Only the host itself.
  deleteResource: { hosts: ["node", "auth"], users: "by kind" },
  getAccess: { hosts: ["node", "proxy", "auth"] },
  watchAccess: { hosts: ["node", "proxy", "auth"] },
  holdConnection: { hosts: ["node", "auth"] },
  reportStreams: { hosts: ["proxy", "auth"] },
  releaseConnection: { hosts: ["node", "auth"] },
  reportSessions: { hosts: ["node"] },
  listSessions: { hosts: ["auth"], users: "by kind" },
  findSession: { hosts: ["proxy", "auth"] },
  reportNode: { hosts: ["node", "proxy", "auth"] },
  listProxies: { hosts: ["node", "proxy", "auth"] },
  // An agent only itself.
  reportOffered: { hosts: ["node", "proxy", "auth"] },
  listOffered: { hosts: ["auth"], users: "by kind" },
  watchHosts: { hosts: ["proxy", "auth"] },
  findDirectHosts: { hosts: ["proxy", "auth"] },
  listInventory: { hosts: ["auth"], users: { resource: "node", verb: "list" } },
  exportUpgradeWindows: { hosts: ["node", "proxy", "auth"] },
  reportChannels: { hosts: ["proxy", "auth"] },
  getUpgradeTarget: { hosts: ["proxy", "auth"] },
  getUpgradeTargets: { hosts: ["proxy", "auth"] },
  getUpgradePlan: { hosts: ["auth"], users: { resource: "upgrade_rollout", verb: "read" } },
  changeRollout: { hosts: ["auth"], users: { resource: "upgrade_rollout", verb: "update" } },
  emitEvents: { hosts: ["node", "proxy", "auth"] },
  uploadRecording: { hosts: ["node", "proxy"] },
  uploadRecordings: { hosts: ["node", "proxy"] },
  listRecordings: { hosts: ["auth"], users: "by kind" },
  readRecording: { hosts: ["auth"], users: "by kind" },
  indexRecording: { hosts: ["auth"], users: "by kind" },
  listEvents: { hosts: ["auth"], users: { resource: "event", verb: "list" } },
} as const satisfies Record<MethodName, Permission>;

/** Throws `unauthenticated` or `denied`. Checks the current roles, removed users and removed hosts. */
export async function requirePermission(context: AuthContext, caller: Caller, method: MethodName): Promise<void> {
  const permission: Permission = permissions[method];
  if (caller.kind === "anonymous") {
    if (permission.anonymous === true) return;
    throw new PlatformError("unauthenticated", "this method requires a certificate", { hint: "log in with: tsh login" });
  }
  const { validBefore } = caller.identity;
  if (context.now() >= validBefore) {
    throw new PlatformError("unauthenticated", `the certificate expired at ${validBefore.toISOString()}`, { hint: "log in again with: tsh login" });
  }
  if (caller.kind === "host") {
    const { role, id } = caller.identity;
    if (!permission.hosts.includes(role)) throw new PlatformError("denied", `access denied: a host of role ${role} may not call ${method}`);
    await requireHost(context.storage, role, id);
    return;
  }
  const { identity } = caller;
  if (permission.users === undefined) throw new PlatformError("denied", `access denied: ${method} is for hosts`);
  if (permission.users === "in a browser" && caller.session === undefined)
    throw new PlatformError("denied", `access denied: ${method} is for browsers`);
  if ((await findUser(context, identity.name)) === undefined) {
    throw new PlatformError("unauthenticated", `user ${identity.name} was removed`);
  }
  const { name: user, userId, roles } = identity;
  const lock = findLock(await listLocks(context.storage), { user, userId, roles, now: context.now() });
  if (lock !== undefined) throw lockedError(lock);
  const elsewhere = refuseSourceIp(identity, await rolesNamed(context.storage, identity.roles), ipOf(caller.address));
  if (elsewhere !== undefined) throw elsewhere;
  if (typeof permission.users === "object") await requireRule(context, caller, permission.users);
}

/** Resources that hosts may read, besides those that an agent may offer. */
const seenByHosts = { node: [], proxy: ["node", "role"], auth: [] } as const satisfies Record<HostRole, readonly RuleResource[]>;

/** Whether the caller's rules allow it. */
export async function hasRule(context: AuthContext, caller: Caller, ask: Omit<ResourceAsk, "kind">): Promise<boolean> {
  try {
    await requireRule(context, caller, ask);
    return true;
  } catch (thrown) {
    if (isDenied(thrown) || (thrown instanceof PlatformError && thrown.code === "unauthenticated")) return false;
    throw thrown;
  }
}

/** Whether a user's roles give any access to a resource: with a one-time code, where they demand one. */
export async function mayReach(context: AuthContext, { identity, address }: UserCaller): Promise<(ask: SshAsk | ServedAsk) => boolean> {
  const roles = await rolesNamed(context.storage, identity.roles);
  return reaching({ identity, roles, locks: await listLocks(context.storage), clientIp: ipOf(address), now: context.now() });
}

/** As `mayReach`, without locks: for an explanation, which names the lock. */
export async function rolesReach(context: AuthContext, { identity, address }: UserCaller): Promise<(ask: SshAsk | ServedAsk) => boolean> {
  const roles = await rolesNamed(context.storage, identity.roles);
  return reaching({ identity, roles, locks: [], clientIp: ipOf(address), now: context.now() });
}

/** Throws `mfa_required` where a user's roles demand a one-time code for a session with a resource, and `denied` as for a session. */
export async function requireSession(context: AuthContext, { identity, address }: UserCaller, ask: SshAsk | ServedAsk): Promise<void> {
  const roles = await rolesNamed(context.storage, identity.roles);
  authorize({ identity, roles, locks: await listLocks(context.storage), ask, clientIp: ipOf(address), now: context.now() });
}

/** Whether a user needs a one-time code for whatever is done at a resource: no role without such a demand allows any of it. */
export async function needsCode(context: AuthContext, { identity, address }: UserCaller): Promise<(ask: SshAsk | ServedAsk) => boolean> {
  const roles = await rolesNamed(context.storage, identity.roles);
  const demanding = roles.filter(({ spec }) => spec.options?.require_session_mfa === true);
  if (demanding.length === 0) return () => false;
  const facts = { identity, locks: await listLocks(context.storage), clientIp: ipOf(address), now: context.now() };
  const others = demanding.some(onlyRestricts) ? [] : roles.filter((role) => !demanding.includes(role));
  const [withCode, without] = [reaching({ ...facts, roles }), reaching({ ...facts, roles: others })];
  return (ask) => withCode(ask) && !without(ask);
}

function reaching(facts: Omit<AuthorizeFacts, "ask">): (ask: SshAsk | ServedAsk) => boolean {
  return (ask) => {
    try {
      authorize({ ...facts, ask, isBeforeMfa: true });
      return true;
    } catch (thrown) {
      if (isDenied(thrown)) return false;
      throw thrown;
    }
  };
}

/**
 * Which resources of this kind, by name, the caller may offer: an agent those that its join token allows. Undefined: not an agent that may
 * offer any.
 */
export async function servedBy(
  { storage }: Pick<AuthContext, "storage">,
  caller: Caller,
  resource: string,
): Promise<((name: string) => boolean) | undefined> {
  if (caller.kind !== "host" || caller.identity.role !== "node") return undefined;
  const kind = servedKinds.find((one) => serviceKinds[one].served.resource === resource);
  if (kind === undefined || !(await allowedServices(storage, caller.identity.id)).includes(kind)) return undefined;
  const limits = await offerLimits(storage, caller.identity.id);
  return (name) => mayOffer(limits, { kind, name });
}

export function isDenied(thrown: unknown): boolean {
  return thrown instanceof PlatformError && thrown.code === "denied";
}

/** Throws `denied` unless the caller's rules allow it. */
export async function requireRule(context: AuthContext, caller: Caller, ask: Omit<ResourceAsk, "kind">): Promise<void> {
  if (caller.kind === "anonymous") throw new PlatformError("unauthenticated", "this method requires a certificate");
  const { identity } = caller;
  if (identity.kind === "host") {
    const looks = ask.verb === "list" || ask.verb === "read";
    const seen: readonly string[] = looks ? seenByHosts[identity.role] : [];
    if (identity.role === "auth" || seen.includes(ask.resource) || (looks && (await servedBy(context, caller, ask.resource)) !== undefined)) return;
    throw new PlatformError("denied", `access denied: a host of role ${identity.role} may not ${ask.verb} ${ask.resource}`);
  }
  const roles = await rolesNamed(context.storage, identity.roles);
  const locks = await listLocks(context.storage);
  authorize({ identity, roles, locks, ask: { kind: "resource", ...ask }, clientIp: ipOf(caller.address), now: context.now() });
}
