import { authorize } from "../../../core/access/authorize.ts";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Route, UserIdentity } from "../../../core/identity/identity.ts";
import { certifiedIdentity } from "../../../core/identity/x509-identity.ts";
import { ipOf } from "../../../core/transport/host-port.ts";
import { listLocks } from "../access/locks.ts";
import { rolesNamed } from "../access/roles.ts";
import type { AuthContext } from "../auth-context.ts";
import type { Actor } from "../document.ts";
import { findUser } from "../users/users.ts";
import { reportedAdmin } from "./database-admin.ts";

export interface RelayedDatabaseAsk {
  /** DER; the proxy has seen in TLS that the peer holds its key. */
  readonly userCertificate: Buffer;
  /** Id of the host whose agent is to be reached. */
  readonly hostId: string;
  /** The proxy's own key, for one connection. */
  readonly tlsPublicKey: string;
  readonly proxyId: string;
  /** `ip:port` of the user. */
  readonly clientAddress: string;
  readonly actor: Actor;
}

/** Validity, ms: a session begins at once, and then lasts as the user's own certificate allows; the clocks of hosts differ a little. */
const validityMs = 300_000;

/**
 * A certificate with which a proxy speaks for a user of its database port: for the one database and the one account of the certificate that was presented
 * there, marked with the proxy's id. The agent and `signDatabaseClient` decide again. Throws `unauthenticated`, `denied`, `not_found`.
 */
export async function signRelayedDatabase(context: AuthContext, ask: RelayedDatabaseAsk): Promise<string> {
  const now = context.now();
  const { identity, route } = routedUser(context, ask.userCertificate, now);
  if ((await findUser(context, identity.name)) === undefined) throw new PlatformError("unauthenticated", `user ${identity.name} was removed`);
  const offered = context.offered.of(ask.hostId, "db", route.name);
  if (offered === undefined) {
    const code = context.offered.isKnown(ask.hostId) ? "not_found" : "unavailable";
    throw new PlatformError(code, `the auth service does not know that this host offers database ${JSON.stringify(route.name)}`, {
      hint: "try again in a moment",
    });
  }
  authorize({
    identity,
    roles: await rolesNamed(context.storage, identity.roles),
    locks: await listLocks(context.storage),
    ask: {
      kind: "db",
      served: { name: route.name, labels: offered.labels },
      names: { user: route.account },
      without: ["name"],
      serverId: ask.hostId,
      makesAccounts: reportedAdmin(offered) !== undefined,
    },
    clientIp: ipOf(ask.clientAddress),
    now,
  });
  const until = identity.validBefore;
  const validBefore = new Date(Math.min(until.getTime(), Math.floor((now.getTime() + validityMs) / 1000) * 1000));
  const relayed = { ...identity, relayed: { by: ask.proxyId, until: until.toISOString() }, validBefore };
  const { tlsCertificate } = await context.authorities.issueUser(relayed, { sshPublicKey: "", tlsPublicKey: ask.tlsPublicKey, now });
  const event = { event: "cert.create", user: ask.actor.name, name: identity.name, kind: "user", expires: validBefore.toISOString() } as const;
  context.audit.emit({ ...event, "addr.remote": ask.clientAddress.slice(0, 256) });
  return tlsCertificate;
}

/** The user of a certificate that is good for one account at one database; a relayed one is not accepted. Throws `unauthenticated`, `denied`. */
function routedUser(
  { authorities, clusterName: cluster }: AuthContext,
  userCertificate: Buffer,
  now: Date,
): { readonly identity: UserIdentity; readonly route: Required<Route> & { readonly account: string } } {
  const certificate = userCertificate.length > 0 ? userCertificate : undefined;
  const facts = { certificate, authorities: authorities.trusted("user").map(({ pem }) => pem), cluster, now };
  const identity = certifiedIdentity("user", facts, "log in again with: tsh db login");
  const { route } = identity;
  if (route?.kind === "db" && route.account !== undefined) return { identity, route: { ...route, account: route.account } };
  throw new PlatformError("denied", "access denied: the client certificate is not for one database and one account", {
    hint: "get one with: tsh db login --db-user=<account> <database>",
  });
}
