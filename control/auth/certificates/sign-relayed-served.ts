import { authorize } from "../../../core/access/authorize.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Route, UserIdentity } from "../../../core/identity/identity.ts";
import { isServedKind, serviceKinds } from "../../../core/kinds/service-kinds.ts";
import { ipOf } from "../../../core/transport/host-port.ts";
import { listLocks } from "../access/locks.ts";
import { rolesNamed } from "../access/roles.ts";
import type { AuthContext } from "../auth-context.ts";
import type { Actor } from "../document.ts";
import { reportedAdmin } from "./database-admin.ts";
import { routeFacts } from "./sign-user.ts";

export interface RelayedServedAsk {
  /** The user, proven to the proxy or here, whose route is the one resource; `account` is needed for a database. */
  readonly identity: UserIdentity & { readonly route: Route };
  /** Id of the host whose agent is to be reached. */
  readonly hostId: string;
  /** The proxy's own key, for one connection. */
  readonly tlsPublicKey: string;
  readonly proxyId: string;
  /** `ip:port` of the user. */
  readonly clientAddress: string;
  /** Of a browser at an application, for the audit log. */
  readonly sessionId?: string;
  readonly actor: Actor;
}

/** Validity, ms: a session begins at once, and then lasts as the user's own certificate allows; the clocks of hosts differ a little. */
const validityMs = 300_000;

/**
 * A certificate with which a proxy speaks for a user at the one resource of the user's route, marked with the proxy's id. The agent decides again. Throws
 * `denied`, `not_found`; `unavailable` while it is not known what the host offers; `limit` where the user has had too many certificates of this kind.
 */
export async function signRelayedServed(context: AuthContext, ask: RelayedServedAsk): Promise<string> {
  const { identity, hostId } = ask;
  const { route } = identity;
  if (!isServedKind(route.kind)) throw new Error(`agents do not serve ${route.kind}`);
  context.quotas.connectionOf(identity.name, route.kind);
  const offered = context.offered.of(hostId, route.kind, route.name);
  if (offered === undefined) {
    const code = context.offered.isKnown(hostId) ? "not_found" : "unavailable";
    const what = `${serviceKinds[route.kind].served.noun} ${JSON.stringify(route.name)}`;
    throw new PlatformError(code, `the auth service does not know that this host offers ${what}`, { hint: "try again in a moment" });
  }
  const now = context.now();
  const served = { name: route.name, labels: offered.labels };
  const makesAccounts = reportedAdmin(offered) !== undefined;
  const account = route.account === undefined ? {} : { names: { user: route.account }, without: ["name"] };
  authorize({
    identity,
    roles: await rolesNamed(context.storage, identity.roles),
    locks: await listLocks(context.storage),
    ask: { kind: route.kind, served, ...account, serverId: hostId, makesAccounts },
    clientIp: ipOf(ask.clientAddress),
    now,
    isPartial: true,
  });
  const until = identity.validBefore;
  const validBefore = new Date(Math.min(until.getTime(), Math.floor((now.getTime() + validityMs) / 1000) * 1000));
  const relayed = { ...identity, relayed: { by: ask.proxyId, until: until.toISOString() }, validBefore };
  const { tlsCertificate } = await context.authorities.issueUser(relayed, { sshPublicKey: "", tlsPublicKey: ask.tlsPublicKey, now });
  const facts = { user: ask.actor.name, name: identity.name, kind: "user", expires: validBefore.toISOString() } as const;
  context.audit.emit({ event: "cert.create", ...facts, ...routeFacts(route, ask.sessionId), "addr.remote": ask.clientAddress.slice(0, 256) });
  return tlsCertificate;
}
